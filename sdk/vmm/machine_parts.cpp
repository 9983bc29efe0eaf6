#include "sdk/vmm/machine_parts.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace harena::vmm {

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return {};
  return errno_error(errno, "making " + path);
}

Result<UniqueFd> open_procs(int group) {
  UniqueFd file(::openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC));
  if (!file) return errno_error(errno, "opening cgroup.procs");
  return file;
}

}  // namespace harena::vmm
