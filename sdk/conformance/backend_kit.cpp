#include "sdk/conformance/backend_kit.hpp"

#include <algorithm>
#include <ctime>

namespace harena::conformance {

std::int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

BackendRun::BackendRun(Context& c) : c_(c) {
  start();
  json probe = c_.need(driver_->probe(), "probe");
  if (!probe.value("usable", false)) c_.skip("the backend says that this host isn't usable: " + probe.value("why_not", json::array()).dump());
}

void BackendRun::start() {
  instance_ = c_.instance();
  driver_.emplace(c_.need(BackendDriver::of(*instance_), "its functions"));
}

void BackendRun::restart() {
  driver_.reset();
  instance_.reset();
  start();
}

std::string BackendRun::create() {
  std::string id = c_.new_id();
  json made = c_.need(driver_->create(c_.request(id)), "create");
  c_.require(made.contains("state") && made["state"].is_string(), "create's result has no text \"state\": " + made.dump());
  made_.emplace_back(id, made["state"]);
  return id;
}

const std::string& BackendRun::state_of(const std::string& id) const {
  auto found = std::ranges::find(made_, id, [](const auto& one) { return one.first; });
  static const std::string none;
  return found == made_.end() ? none : found->second;
}

bool BackendRun::has_verb(std::string_view verb) const {
  auto verbs = loader::optional_verbs(driver_->table);
  return std::ranges::find(verbs, verb) != verbs.end();
}

void BackendRun::need_verbs(std::initializer_list<std::string_view> verbs) const {
  for (auto verb : verbs) {
    if (!has_verb(verb)) c_.skip("the backend doesn't have the verb " + std::string(verb));
  }
}

std::string BackendRun::status_of(const std::string& id) const {
  json found = c_.need(driver_->recover(id, state_of(id)), "recover");
  std::string status = found.value("status", "");
  if (status != "running" && status != "paused" && status != "gone") {
    c_.fail("recover's status is '" + status + "'; running, paused or gone are right");
  }
  return status;
}

void BackendRun::stop(const std::string& id) { c_.need(driver_->stop(id), "stop"); }

void BackendRun::stop_all() {
  for (const auto& [id, state] : made_) stop(id);
}

void BackendRun::need_gone(const std::string& id, std::string_view after) const {
  std::string when = " after " + std::string(after);
  c_.require(status_of(id) == "gone", "recover still finds the sandbox" + when);
  c_.need_error(driver_->usage(id), ErrorCode::not_found, "usage" + when);
}

}  // namespace harena::conformance
