#include "sdk/conformance/case.hpp"

#include <algorithm>

namespace harena::conformance {
namespace {

json with_tmp(const json& document, const std::string& tmp) {
  if (document.is_string()) {
    std::string text = document;
    for (auto at = text.find("{tmp}"); at != std::string::npos; at = text.find("{tmp}", at + tmp.size())) text.replace(at, 5, tmp);
    return text;
  }
  json copy = document;
  if (copy.is_structured()) {
    for (auto& member : copy) member = with_tmp(member, tmp);
  }
  return copy;
}

}  // namespace

const loader::Library& Context::library() {
  if (library_ == nullptr) {
    library_ = subject_.descriptor != nullptr ? need(loader::Library::from_descriptor(subject_.descriptor), "checking the descriptor")
                                              : need(loader::Library::open_unchecked(subject_.library), "loading the plugin");
  }
  return *library_;
}

bool Context::has_contract(std::string_view id) {
  return std::ranges::find(library().contracts(), id) != library().contracts().end();
}

json Context::config() const { return with_tmp(subject_.config, tmp_.string()); }

std::unique_ptr<loader::Instance> Context::instance() {
  return need(library().create(host_.host(), config()), "making an instance");
}

json Context::request(const std::string& id) const {
  json request = with_tmp(subject_.request, tmp_.string());
  for (const char* object : {"params", "image_config", "env", "labels"}) {
    if (!request.contains(object)) request[object] = json::object();
  }
  if (!request.contains("layers")) request["layers"] = json::array();
  request["sandbox_id"] = id;
  for (const char* key : {"run_dir", "state_dir"}) {
    auto folder = tmp_ / (key == std::string_view("run_dir") ? "run" : "state") / id;
    std::filesystem::create_directories(folder);
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
    request[key] = folder.string();
  }
  return request;
}

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (auto make : {file_cases, load_cases, instance_cases, config_cases, backend_cases, backend_call_cases, backend_verb_cases,
                      backend_crash_cases, container_cases, image_store_cases, image_store_crash_cases, state_store_cases, state_store_watch_cases, frontend_cases, incident_cases}) {
      auto part = make();
      std::ranges::move(part, std::back_inserter(all));
    }
    return all;
  }();
  return cases;
}

namespace {

std::optional<std::vector<std::string>> declared_contracts(const Subject& subject) {
  if (subject.descriptor != nullptr) {
    auto library = loader::Library::from_descriptor(subject.descriptor);
    return library.ok() ? std::optional((*library)->contracts()) : std::nullopt;
  }
  auto manifest = loader::read_manifest(subject.folder());
  return manifest.ok() ? std::optional(manifest->contracts) : std::nullopt;
}

}  // namespace

std::vector<Case> applicable_cases(const Subject& subject, int level) {
  auto declared = declared_contracts(subject);
  std::vector<Case> chosen;
  for (const auto& one : all_cases()) {
    bool applies = one.contract.empty() || !declared || std::ranges::find(*declared, one.contract) != declared->end();
    if (applies && one.level <= level) chosen.push_back(one);
  }
  return chosen;
}

}  // namespace harena::conformance
