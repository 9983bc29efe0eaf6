#include "plugins/container/disk_images.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "plugins/container/disk_growth.hpp"

namespace harena::container {
namespace {

constexpr std::int64_t kBlock = 4096;
/// Blocks that one block group describes.
constexpr std::int64_t kGroupBlocks = 32768;
constexpr std::int64_t kBytesPerInode = 16384;
constexpr std::int64_t kFewestInodes = 1024;
constexpr std::size_t kMostTemplates = 32;

std::string find_mke2fs() {
  for (const char* path : {"/usr/sbin/mke2fs", "/sbin/mke2fs", "/usr/bin/mke2fs"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  return {};
}

/// The user was promised room for files: what the file system needs for itself comes on top.
std::int64_t image_bytes(std::int64_t bytes, std::int64_t inodes) {
  const std::int64_t groups = bytes / kBlock / kGroupBlocks + 1;
  return image_bytes_for(bytes, (inodes + groups - 1) / groups);
}

bool has_nameless_files(const std::string& folder) {
  return UniqueFd(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)).get() >= 0;
}

Result<UniqueFd> nameless_file(const std::string& folder, std::int64_t bytes) {
  UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file && (errno == EOPNOTSUPP || errno == EISDIR)) {
    std::string name = folder + "/disk-XXXXXX";
    file.reset(::mkostemp(name.data(), O_CLOEXEC));
    if (file) ::unlink(name.c_str());
  }
  if (!file) return errno_error(errno, "make a disk image in " + folder);
  if (::ftruncate(file.get(), bytes) != 0) return errno_error(errno, "size a disk image of " + std::to_string(bytes) + " bytes");
  return file;
}

/// posix_spawn: the daemon is large and must never fork by itself. The image is the child's descriptor 3.
Status run_mke2fs(const std::string& program, int image, std::int64_t inodes) {
  std::vector<std::string> words = {"mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-I", "256", "-m", "0",
                                    "-O", "^has_journal,^resize_inode", "-E", "lazy_itable_init=1,nodiscard",
                                    "-N", std::to_string(inodes), "/proc/self/fd/3"};
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  char* environment[] = {nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&actions, 0, 1);
  posix_spawn_file_actions_adddup2(&actions, 0, 2);
  posix_spawn_file_actions_adddup2(&actions, image, 3);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, nullptr, argv.data(), environment);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return errno_error(error, "start " + program);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return make_error(ErrorCode::unavailable, program + " failed with status " + std::to_string(status) + " (is the host's disk full?)");
}

/// Only what is written in it: the rest is a hole.
Status copy_data(int from, int to) {
  off_t at = 0;
  while ((at = ::lseek(from, at, SEEK_DATA)) >= 0) {
    const off_t end = ::lseek(from, at, SEEK_HOLE);
    off_t target = at;
    while (at < end) {
      const ssize_t done = ::copy_file_range(from, &at, to, &target, static_cast<std::size_t>(end - at), 0);
      if (done <= 0) return errno_error(done == 0 ? EIO : errno, "copy a disk image");
    }
  }
  return errno == ENXIO ? Status() : Status(errno_error(errno, "read a disk image"));
}

}  // namespace

DiskImages::DiskImages(std::string mke2fs) : mke2fs_(mke2fs.empty() ? find_mke2fs() : std::move(mke2fs)) {}

Result<int> DiskImages::template_for(std::int64_t bytes, std::int64_t inodes, const std::string& folder) {
  auto found = std::find_if(templates_.begin(), templates_.end(),
                            [&](const Template& t) { return t.bytes == bytes && t.inodes == inodes; });
  if (found != templates_.end()) {
    templates_.splice(templates_.begin(), templates_, found);
    return templates_.front().file.get();
  }
  HARENA_TRY(UniqueFd file, nameless_file(folder, image_bytes(bytes, inodes)));
  HARENA_TRY_STATUS(run_mke2fs(mke2fs_, file.get(), inodes));
  templates_.push_front({bytes, inodes, std::move(file)});
  if (templates_.size() > kMostTemplates) templates_.pop_back();
  return templates_.front().file.get();
}

Result<UniqueFd> DiskImages::make_nameless(std::int64_t bytes, std::int64_t inodes, const std::string& folder) {
  if (has_nameless_files(folder)) return make(bytes, inodes, folder);
  return make_error(ErrorCode::unimplemented, "the file system of " + folder + " can't make files without a name");
}

Result<UniqueFd> DiskImages::make(std::int64_t bytes, std::int64_t inodes, const std::string& folder) {
  if (!available()) {
    return make_error(ErrorCode::failed_precondition, "mke2fs isn't there (apt-get install e2fsprogs)");
  }
  if (inodes == 0) inodes = std::max(kFewestInodes, bytes / kBytesPerInode);
  std::lock_guard lock(mutex_);
  HARENA_TRY(int source, template_for(bytes, inodes, folder));
  HARENA_TRY(UniqueFd image, nameless_file(folder, image_bytes(bytes, inodes)));
  HARENA_TRY_STATUS(copy_data(source, image.get()));
  return image;
}

}  // namespace harena::container
