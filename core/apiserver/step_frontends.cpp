#include <ctime>
#include <thread>

#include "core/apiserver/apiserver_role.hpp"

namespace harena {
namespace {

std::int64_t monotonic_in(std::chrono::seconds from_now) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // the clock of a call's deadline by contract
  return (std::int64_t{now.tv_sec} + from_now.count()) * 1'000'000'000 + now.tv_nsec;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const auto& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

}  // namespace

/// Behind the API's listener, which they ask; and drained before it, so that what they have under way can still end.
Step ApiserverRole::frontends_step() {
  return {"frontends",
          [this]() -> Status {
            parts_.host_api.open(host_api_parts());
            for (const auto& loaded : parts_.frontends()) {
              auto addresses = loaded.frontend->start({});
              if (!addresses.ok()) {
                drain_frontends();
                return std::move(addresses).error().during("starting the frontend '" + loaded.name + "'");
              }
              parts_.notice("info", loaded.name + " listens on " + joined(*addresses));
              std::lock_guard lock(listening_mutex_);
              listening_[loaded.name] = *std::move(addresses);
              started_.push_back(loaded.frontend);
            }
            return ok_status();
          },
          [this] { drain_frontends(); }};
}

std::map<std::string, std::vector<std::string>> ApiserverRole::frontends() const {
  std::lock_guard lock(listening_mutex_);
  return listening_;
}

std::vector<FrontendSample> ApiserverRole::frontend_samples() const {
  std::lock_guard lock(listening_mutex_);
  std::vector<FrontendSample> all;
  for (auto* frontend : started_) {
    auto samples = frontend->metrics({});
    if (samples.ok()) all.insert(all.end(), samples->begin(), samples->end());
  }
  return all;
}

HostApiParts ApiserverRole::host_api_parts() {
  return {.connect = [this] { return server_->connect(); },
          .act_for = [this](const auto& plugin, const auto& id) { return services_->iam.act_for(plugin, id); },
          .secret = [this](const auto& plugin, const auto& purpose) { return services_->iam.frontend_secret(plugin, purpose); }};
}

/// All at once: each has the whole time.
void ApiserverRole::drain_frontends() {
  CallContext call;
  call.deadline_ns = monotonic_in(std::chrono::seconds(parts_.config.limits.drain_s));
  {
    std::vector<std::jthread> draining;
    for (const auto& loaded : parts_.frontends()) {
      draining.emplace_back([this, &call, loaded] {
        const auto drained = loaded.frontend->drain(call);
        if (!drained.ok()) parts_.notice("warning", loaded.name + ": " + drained.error().describe());
      });
    }
  }
  parts_.host_api.close();
  std::lock_guard lock(listening_mutex_);
  listening_.clear();
  started_.clear();
}

}  // namespace harena
