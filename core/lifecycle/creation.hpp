#pragma once
// Creation: one create from the request to a running sandbox, or to nothing.

#include <optional>
#include <string>

#include "core/lifecycle/manager.hpp"

namespace harena {

/// Used once, on one worker thread. The steps, and what undoes each:
///   check     backend, parameters, quota, admission, image           nothing was made
///   claim     the record `creating` and the idempotency key, one transaction   both removed
///   build     folders, then the backend's create                     backend stop, folders removed
///   publish   the record `running` with the backend's blob           as build
/// A stop that comes in the middle cancels the build; the record then stays as `stopped`, with its key, so that a
/// repeated create under that key answers the stopped one and never makes a second.
class Creation {
 public:
  Creation(SandboxManager& manager, const CallContext& call, const CreateSpec& spec);
  Result<Sandbox> run();

 private:
  friend class Forking;
  /// The image is known already, whatever its references mean by now; and what the machine promises.
  void inherit(ImageStack image, const Resources& promised);
  Status check();
  /// The sandbox that the idempotency key made before, once its creation is over; nullopt: the claim is ours.
  Result<std::optional<Sandbox>> claim();
  Result<std::optional<Sandbox>> await(Sandbox earlier);
  Status make_folders();
  /// What isn't asked for is as in the snapshot's sandbox.
  Status inherit_snapshot();
  Status build();
  /// What weakens it is in the trail before anybody can use it.
  Status tell_weakening();
  Status publish();
  Error undo(Error error);
  BackendCreateRequest backend_request() const;
  Sandbox new_record() const;

  SandboxManager& manager_;
  CallContext call_;
  CreateSpec spec_;
  BackendEntry backend_;
  Resources promised_;
  std::optional<Snapshot> snapshot_;
  ImageStack image_;
  bool inherited_ = false;
  std::optional<SandboxId> id_;
  LivePtr live_;
  BackendCreated created_;
};

}  // namespace harena
