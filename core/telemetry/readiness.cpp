#include "core/telemetry/readiness.hpp"

#include <exception>

namespace harena {
namespace {

std::string reason(const Readiness::Check& check) {
  try {
    const auto status = check();
    return status.ok() ? std::string() : status.error().describe();
  } catch (const std::exception& error) {
    return std::string("the check failed: ") + error.what();
  }
}

}  // namespace

void Readiness::add(std::string name, Check check) {
  std::lock_guard lock(mutex_);
  checks_[std::move(name)] = std::move(check);
}

void Readiness::remove(const std::string& name) {
  std::lock_guard lock(mutex_);
  checks_.erase(name);
}

std::map<std::string, std::string> Readiness::failed() const {
  std::map<std::string, Check> checks;
  {
    std::lock_guard lock(mutex_);
    checks = checks_;
  }
  std::map<std::string, std::string> failed;
  for (const auto& [name, check] : checks) {
    if (auto why = reason(check); !why.empty()) failed.emplace(name, std::move(why));
  }
  return failed;
}

}  // namespace harena
