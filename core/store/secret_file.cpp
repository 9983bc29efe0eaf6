#include "core/store/secret_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

Error unusable(const std::filesystem::path& path, const std::string& why) {
  return make_error(ErrorCode::failed_precondition,
                    "the secret file '" + path.string() + "' " + why + "; put it right or remove it");
}

Status check_owner(const std::filesystem::path& path, int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return errno_error(errno, "fstat '" + path.string() + "'");
  if (!S_ISREG(info.st_mode)) return unusable(path, "is not a regular file");
  if (info.st_uid != ::geteuid()) return unusable(path, "belongs to another user");
  if ((info.st_mode & 077) != 0) return unusable(path, "may be read or written by others (chmod 600)");
  return ok_status();
}

Status write_all(int fd, const std::string& text, const std::string& name) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto count = ::write(fd, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno_error(errno, "writing '" + name + "'");
    done += static_cast<std::size_t>(count);
  }
  if (::fsync(fd) != 0) return errno_error(errno, "fsync '" + name + "'");
  return ok_status();
}

Status sync_folder(const std::filesystem::path& folder) {
  const UniqueFd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return errno_error(errno, "opening '" + folder.string() + "'");
  if (::fsync(fd.get()) != 0) return errno_error(errno, "fsync '" + folder.string() + "'");
  return ok_status();
}

Status write_new(const std::string& name, const std::string& text) {
  // Mode at birth: there is no moment in which others could open it.
  const UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return errno_error(errno, "creating '" + name + "'");
  return write_all(fd.get(), text, name);
}

}  // namespace

Result<std::optional<std::string>> read_secret_file(const std::filesystem::path& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::optional<std::string>();
  if (!fd && errno == ELOOP) return unusable(path, "is a symbolic link");
  if (!fd) return errno_error(errno, "opening the secret file '" + path.string() + "'");
  HARENA_TRY_STATUS(check_owner(path, fd.get()));
  std::array<char, kMaxSecretBytes + 1> buffer{};
  const auto count = ::read(fd.get(), buffer.data(), buffer.size());
  if (count < 0) return errno_error(errno, "reading '" + path.string() + "'");
  std::string secret(buffer.data(), static_cast<std::size_t>(count));
  if (secret.size() > kMaxSecretBytes) return unusable(path, "is longer than a secret (1024 bytes)");
  while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
  return std::optional<std::string>(std::move(secret));
}

Status create_secret_file(const std::filesystem::path& path, const std::string& secret, RandomSource& random) {
  // A name of its own each time: what a crash left is never in the way.
  const std::string draft = path.string() + ".new-" + random.hex(8);
  auto written = write_new(draft, secret + "\n");
  // link(2), unlike rename(2), fails when the name is taken.
  if (written && ::link(draft.c_str(), path.c_str()) != 0) {
    written = errno_error(errno, "creating '" + path.string() + "'");
  }
  ::unlink(draft.c_str());
  HARENA_TRY_STATUS(std::move(written));
  const auto folder = path.parent_path();
  return sync_folder(folder.empty() ? "." : folder);
}

}  // namespace harena
