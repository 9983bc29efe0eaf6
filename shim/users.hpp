#pragma once
// Users of the sandbox, from its own /etc/passwd and /etc/group: read by a process that is already inside, with the
// agent as their author, so: regular files only, bounded, and every line may be nonsense.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::shim {

inline constexpr std::size_t kMaxPasswdBytes = 4 << 20;

struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups = {0};
  std::string name = "root";
  std::string home = "/root";
};

/// "", "name", "name:group", "uid", "uid:gid"; "" and "0" don't read any file. A number without an entry in passwd has
/// group 0, no other groups and home "/". not_found names the user or group that isn't there.
Result<Identity> resolve_user(std::string_view user, const std::vector<std::string>& groups);

/// setgroups, setgid, setuid, in the caller's user namespace. Afterwards the capabilities are the user's: none for
/// anyone but root.
Status become(const Identity& identity);

}  // namespace harena::shim
