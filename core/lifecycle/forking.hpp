#pragma once
// Forking: one fork, from the request to children that run, each of them or an error in its place.

#include <deque>

#include "core/lifecycle/creation.hpp"

namespace harena {

/// Used once, on one worker thread, by somebody who holds the source's verb lock. Every child goes the way of a create (creation.hpp);
/// only that one call of the backend makes them all. A crash in the middle leaves records `creating`, which a start undoes.
class Forking {
 public:
  Forking(SandboxManager& manager, const CallContext& call, Sandbox source, const ForkSpec& spec)
      : manager_(manager), call_(call), source_(std::move(source)), spec_(spec) {}
  Result<ForkOutcome> run();

 private:
  struct Child {
    Creation creation;
    std::unique_lock<std::timed_mutex> verb;
    std::optional<Result<Sandbox>> outcome;  ///< once it is decided
  };
  Status check();
  CreateSpec child_spec(std::int64_t index) const;
  Result<ImageStack> image_of_source();
  /// Until it is claimed and its folders are there.
  void begin(Child& child);
  void make_children();
  void end(Child& child, Result<BackendCreated> made);

  SandboxManager& manager_;
  const CallContext& call_;
  const Sandbox source_;
  const ForkSpec& spec_;
  BackendEntry backend_;
  std::deque<Child> children_;  // a Creation doesn't move
};

}  // namespace harena
