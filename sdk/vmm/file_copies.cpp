#include "sdk/vmm/file_copies.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {
namespace {

constexpr std::size_t kBufferBytes = 1 << 20;

Result<UniqueFd> open_source(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return errno_error(errno, "opening " + path);
  return file;
}

Result<UniqueFd> make_target(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return errno_error(errno, "making " + path);
  return file;
}

/// One piece, which may be shorter than `size`; how much.
Result<off_t> copy_piece(int source, int target, char* buffer, std::size_t size, off_t at) {
  const ssize_t got = ::pread(source, buffer, size, at);
  if (got <= 0) return errno_error(got == 0 ? EIO : errno, "reading");
  const ssize_t put = ::pwrite(target, buffer, static_cast<std::size_t>(got), at);
  if (put <= 0) return errno_error(put == 0 ? ENOSPC : errno, "writing");
  return static_cast<off_t>(put);
}

Status copy_data(int source, int target) {
  struct stat status{};
  if (::fstat(source, &status) != 0) return errno_error(errno, "looking at it");
  if (::ftruncate(target, status.st_size) != 0) return errno_error(errno, "sizing its copy");
  std::vector<char> buffer(kBufferBytes);
  for (off_t at = 0; (at = ::lseek(source, at, SEEK_DATA)) >= 0;) {
    const off_t end = ::lseek(source, at, SEEK_HOLE);
    if (end < 0) return errno_error(errno, "finding the end of its data");
    while (at < end) {
      const auto now = static_cast<std::size_t>(std::min<off_t>(kBufferBytes, end - at));
      HARENA_TRY(const off_t done, copy_piece(source, target, buffer.data(), now, at));
      at += done;
    }
  }
  return errno == ENXIO ? Status() : Status(errno_error(errno, "finding its data"));
}

Status into_target(const std::string& from, const std::string& to, bool may_share) {
  HARENA_TRY(UniqueFd source, open_source(from));
  HARENA_TRY(UniqueFd target, make_target(to));
  if (may_share && ::ioctl(target.get(), FICLONE, source.get()) == 0) return {};
  Status copied = copy_data(source.get(), target.get());
  if (copied.ok()) return {};
  ::unlink(to.c_str());
  return std::move(copied).error().during("copying " + from);
}

}  // namespace

Status link_or_copy(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) == 0) return {};
  if (errno != EXDEV && errno != EMLINK && errno != EPERM) return errno_error(errno, "linking " + from);
  struct stat status{};
  HARENA_TRY_STATUS(copy_sparse_file(from, to));
  if (::stat(from.c_str(), &status) == 0) ::chmod(to.c_str(), status.st_mode & 07777);
  return {};
}

Status clone_file(const std::string& from, const std::string& to) { return into_target(from, to, true); }

Status copy_sparse_file(const std::string& from, const std::string& to) { return into_target(from, to, false); }

}  // namespace harena::vmm
