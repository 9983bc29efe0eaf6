#include "core/cli/local_target.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace harena::cli {

namespace {

Result<LocalTarget> open_stream(const std::string& named) {
  UniqueFd stream(::open(named.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!stream) return errno_error(errno, named);
  return LocalTarget{named, std::move(stream)};
}

Result<LocalTarget> behind_links(const std::string& named) {
  char resolved[PATH_MAX];
  if (::realpath(named.c_str(), resolved) == nullptr) return errno_error(errno, named);
  return LocalTarget{resolved, {}};
}

}  // namespace

Result<LocalTarget> local_target(const std::string& named) {
  struct stat link {}, info {};
  if (::lstat(named.c_str(), &link) != 0) return LocalTarget{named, {}};  // new, or its folder says what is wrong
  if (::stat(named.c_str(), &info) != 0) {
    return make_error(ErrorCode::failed_precondition, "'" + named + "' is a link that leads nowhere; remove it, or name what it is to lead to");
  }
  if (S_ISSOCK(info.st_mode)) return make_error(ErrorCode::failed_precondition, "'" + named + "' is a socket; a file can't be copied to it");
  if (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode) || S_ISFIFO(info.st_mode)) return open_stream(named);
  if (S_ISLNK(link.st_mode)) return behind_links(named);
  return LocalTarget{named, {}};
}

}  // namespace harena::cli
