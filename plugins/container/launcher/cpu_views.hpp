#pragma once
// Files that tell how many CPUs there are, as a sandbox is to see them: /proc/cpuinfo and /sys/devices/system/cpu/{online,possible}, which glibc's
// sysconf(_SC_NPROCESSORS_*) and Python's os.cpu_count() read. With lxcfs and without: what lxcfs shows of CPUs depends on how it was started.
//
// They are files in a tmpfs of the sandbox's own, owned by an id that it doesn't have, so nobody inside writes them; whoever is root outside
// does, which is how a resize reaches those who read them later.

#include <sys/types.h>

#include <string>

#include "sdk/base/result.hpp"

namespace harena::container {

/// The first `count` processors of /proc/cpuinfo, numbered from 0; all when it has fewer.
std::string cpuinfo_for(const std::string& cpuinfo, int count);
/// "0-3\n".
std::string cpu_list_for(int count);

/// Over their namesakes in the caller's own /proc and /sys; /dev is there too. Files that this kernel hasn't got are left out. Returns the machine's
/// cpuinfo, for change_cpu_views.
Result<std::string> mount_cpu_views(int count);
/// Other contents for them, wherever /proc and /sys have been moved to: below `root`. Nobody but the caller sees them yet.
Status change_cpu_views(int root, const std::string& machine, int count);
/// Other contents for what mount_cpu_views made in the sandbox of this init. Needs root of the host. Idempotent. Nothing where there are none.
Status rewrite_cpu_views(pid_t init, int count);

}  // namespace harena::container
