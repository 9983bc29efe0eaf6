#include <sys/utsname.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/image/foreign_image.hpp"
#include "core/image/foreign_json.hpp"
#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

using nlohmann::json;

std::map<std::string, std::string> environment_of(const json& config) {
  std::map<std::string, std::string> env;
  for (const auto& line : texts_at(config, "Env")) {
    const auto equals = line.find('=');
    if (equals != 0 && equals != std::string::npos) env[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return env;
}

std::map<std::string, std::string> labels_of(const json& config) {
  std::map<std::string, std::string> labels;
  const auto found = object_at(config, "Labels");
  for (const auto& [name, value] : found.items()) {
    if (value.is_string()) labels[name] = value.get<std::string>();
  }
  return labels;
}

/// Docker takes a relative WORKDIR as relative to "/".
std::string workdir_of(const json& config) {
  auto workdir = text_at(config, "WorkingDir");
  return workdir.empty() || workdir.starts_with('/') ? workdir : "/" + workdir;
}

Status check_platform(const json& document, const std::string& architecture) {
  const auto system = text_at(document, "os");
  const auto built_for = text_at(document, "architecture");
  if ((system.empty() || system == "linux") && built_for == architecture) return ok_status();
  return make_error(ErrorCode::failed_precondition, "the image is for " + (system.empty() ? "linux" : system) + "/" +
                                                        (built_for.empty() ? "unknown" : built_for) + "; this machine is linux/" + architecture);
}

}  // namespace

Result<json> parse_foreign(const std::string& bytes, const std::string& what) {
  int deepest = 0;
  auto document = json::parse(
      bytes,
      [&](int depth, json::parse_event_t, json&) {
        deepest = std::max(deepest, depth);
        return deepest <= 64;
      },
      false);
  if (deepest > 64 || document.is_discarded() || !document.is_object()) {
    return make_error(ErrorCode::invalid_argument, what + " isn't a JSON object");
  }
  return document;
}

std::string text_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json object_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_object() ? *found : json::object();
}

json array_at(const json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? *found : json::array();
}

std::vector<std::string> texts_at(const json& object, const char* key) {
  std::vector<std::string> texts;
  for (const auto& element : array_at(object, key)) {
    if (element.is_string()) texts.push_back(element.get<std::string>());
  }
  return texts;
}

Result<ForeignImage> read_foreign_config(const std::string& bytes, const std::string& architecture) {
  HARENA_TRY(const auto document, parse_foreign(bytes, "the image's config"));
  HARENA_TRY_STATUS(check_platform(document, architecture));
  const auto config = object_at(document, "config");
  ForeignImage image;
  image.config.env = environment_of(config);
  image.config.entrypoint = texts_at(config, "Entrypoint");
  image.config.cmd = texts_at(config, "Cmd");
  image.config.workdir = workdir_of(config);
  image.config.user = text_at(config, "User");
  image.config.labels = labels_of(config);
  image.config.architecture = architecture;
  image.created = text_at(document, "created");
  for (auto& diff_id : texts_at(object_at(document, "rootfs"), "diff_ids")) image.layers.push_back({"", std::move(diff_id)});
  return image;
}

std::string host_architecture() {
  utsname host{};
  ::uname(&host);
  const std::string machine = host.machine;
  if (machine == "x86_64") return "amd64";
  if (machine == "aarch64") return "arm64";
  return machine;
}

}  // namespace harena::image
