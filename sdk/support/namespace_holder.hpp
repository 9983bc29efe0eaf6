#pragma once
// Makes namespaces that belong to a new, mapped user namespace, before anybody lives in them.
//
// A process is needed to own fresh namespaces; the holder is one that shares our memory (CLONE_VM: nothing is copied), only
// sleeps, and dies with the holder object. From outside, with all privileges kept, one can then enter its network
// namespace to mount sysfs, map mounts through its user namespace, and only at the end become its user.

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

class NamespaceHolder {
 public:
  /// New user, network, IPC and UTS namespaces; ids 0..65535 inside are first_id.. outside (users and groups).
  /// resource_exhausted when a limit on namespaces (/proc/sys/user/max_*_namespaces) is reached.
  /// Call from a single-threaded process only.
  static Result<NamespaceHolder> make(std::uint32_t first_id);
  NamespaceHolder(NamespaceHolder&&) noexcept;
  NamespaceHolder& operator=(NamespaceHolder&&) = delete;
  /// Ends the sleeping process. The namespaces live on in whoever has joined them.
  ~NamespaceHolder();

  /// Ends the sleeping process once somebody has joined the namespaces; the user namespace can still be used. Idempotent.
  void end_process();

  /// The user namespace, for idmap_mount.
  int user_namespace() const { return user_namespace_.get(); }
  /// The sleeping process, which is in all of them: to name its network namespace to the kernel.
  pid_t member() const { return pid_; }
  /// Joins the network, IPC and UTS namespaces; the caller's credentials stay as they are.
  Status join_without_user() const;
  /// Becomes a member of the user namespace, with all capabilities in it and none outside. Can't be undone.
  Status join_user() const;

 private:
  NamespaceHolder() = default;
  pid_t pid_ = 0;
  UniqueFd pidfd_;
  UniqueFd user_namespace_;
  struct Stack;
  std::unique_ptr<Stack> stack_;
};

}  // namespace harena
