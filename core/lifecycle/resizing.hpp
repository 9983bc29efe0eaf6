#pragma once
// Resizing: other parameters for a living sandbox: all of them, or none.

#include <functional>

#include "core/lifecycle/manager.hpp"

namespace harena {

/// Used once, on a worker thread that holds the sandbox's verb lock. The steps, and what undoes each:
///   check    parameters, quota, admission: of the difference     quota and promise as before
///   claim    the record says where it leads (Sandbox::resizing)   taken away again
///   change   the backend's resize, which is all or nothing        itself
///   commit   the record has the new parameters
/// Who dies in between leaves a record that says where it was going; settle() goes there, or back if that can't be.
class Resizing {
 public:
  Resizing(SandboxManager& manager, const CallContext& call, LiveSandbox& live) : manager_(manager), call_(call), live_(live) {}

  /// `also` changes the record in the same step as the commit.
  Status run(const nlohmann::json& change, const std::function<void(Sandbox&)>& also);
  /// What an earlier resize left in the middle. ok when there is nothing.
  Status settle();

 private:
  Status reserve(const Sandbox& next);
  void give_back(const Sandbox& next);
  Result<BackendCreated> apply(Backend& backend, const nlohmann::json& from, const nlohmann::json& to);
  Status commit(const Sandbox& next, const std::function<void(Sandbox&)>& also);

  SandboxManager& manager_;
  const CallContext& call_;
  LiveSandbox& live_;
};

}  // namespace harena
