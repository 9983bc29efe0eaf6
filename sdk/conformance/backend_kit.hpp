#pragma once
// What the backend cases share.

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "sdk/conformance/case.hpp"

namespace harena::conformance {

inline const std::string kBackendContract = HARENA_BACKEND_CONTRACT;

/// Until when a call may go on after it was cancelled or its deadline has passed.
inline constexpr std::chrono::seconds kEndGrace{5};

std::int64_t monotonic_ns();

/// An instance of a backend in use; as a host, which knows its sandboxes and stops them at the end.
class BackendRun {
 public:
  /// Skips the case when the backend says that this host isn't usable.
  explicit BackendRun(Context& c);

  const BackendDriver& backend() const { return *driver_; }
  const BackendDriver* operator->() const { return &*driver_; }
  const loader::Instance& instance() const { return *instance_; }
  /// Makes a sandbox and returns its id; the case fails otherwise.
  std::string create();
  const std::string& state_of(const std::string& id) const;
  /// Skips the case unless all of these verbs are there.
  void need_verbs(std::initializer_list<std::string_view> verbs) const;
  bool has_verb(std::string_view verb) const;
  /// "running", "paused" or "gone", by recover.
  std::string status_of(const std::string& id) const;
  void stop(const std::string& id);
  void stop_all();
  /// Destroys the instance and makes another: a restart of the host.
  void restart();
  /// The case fails when the backend still finds something of `id`.
  void need_gone(const std::string& id, std::string_view after) const;

 private:
  void start();
  Context& c_;
  std::unique_ptr<loader::Instance> instance_;
  std::optional<BackendDriver> driver_;
  std::vector<std::pair<std::string, std::string>> made_;  // id, state
};

}  // namespace harena::conformance
