#include "plugins/imagestore-local/files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "sdk/base/random.hpp"

namespace harena::imagestore {

Error store_error(int errno_value, const std::string& what) {
  Error plain = errno_error(errno_value, what);
  if (errno_value == ENOSPC || errno_value == EDQUOT) {
    plain.message += "; free space on the image store's file system or remove images";
  }
  return infrastructure_error(plain.code, "image-store", std::move(plain.message));
}

Result<UniqueFd> ensure_folder(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0700) != 0 && errno != EEXIST) return store_error(errno, "mkdir '" + name + "'");
  UniqueFd fd(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return store_error(errno, "open folder '" + name + "'");
  return fd;
}

Result<std::vector<std::string>> names_in(int folder) {
  UniqueFd own(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own) return store_error(errno, "open folder");
  std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), &::closedir);
  if (!stream) return store_error(errno, "read folder");
  (void)own.release();  // the stream owns it now
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) return store_error(errno, "read folder");
  return names;
}

Status flush(int fd, const std::string& what) {
  if (::fsync(fd) == 0) return ok_status();
  return store_error(errno, "fsync " + what);
}

Status write_all(int fd, std::string_view bytes, const std::string& what) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return store_error(errno, "write " + what);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return ok_status();
}

Result<std::string> read_small_file(int folder, const std::string& name, std::size_t limit) {
  UniqueFd fd(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return store_error(errno, "open '" + name + "'");
  std::string bytes(limit + 1, '\0');
  std::size_t length = 0;
  while (length < bytes.size()) {
    const auto got = ::read(fd.get(), bytes.data() + length, bytes.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return store_error(errno, "read '" + name + "'");
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  if (length > limit) return make_error(ErrorCode::failed_precondition, "'" + name + "' is larger than " + std::to_string(limit) + " bytes");
  bytes.resize(length);
  return bytes;
}

Result<TemporaryFile> TemporaryFile::create(int borrow_folder) {
  SystemRandom random;
  for (int attempt = 0; attempt < 10; ++attempt) {
    auto name = "put." + random.hex(8);
    UniqueFd fd(::openat(borrow_folder, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd) return TemporaryFile(borrow_folder, std::move(name), std::move(fd));
    if (errno != EEXIST) return store_error(errno, "make a temporary file");
  }
  return store_error(EEXIST, "make a temporary file");
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(other.folder_), name_(std::move(other.name_)), fd_(std::move(other.fd_)) {
  other.name_.clear();
}

TemporaryFile::~TemporaryFile() {
  if (!name_.empty()) ::unlinkat(folder_, name_.c_str(), 0);  // gone already when it was renamed
}

Status replace_file(int temporary_folder, int folder, const std::string& name, std::string_view bytes) {
  HARENA_TRY(auto file, TemporaryFile::create(temporary_folder));
  HARENA_TRY_STATUS(write_all(file.fd(), bytes, "'" + name + "'"));
  HARENA_TRY_STATUS(flush(file.fd(), "'" + name + "'"));
  if (::renameat(temporary_folder, file.name().c_str(), folder, name.c_str()) != 0) {
    return store_error(errno, "rename to '" + name + "'");
  }
  return flush(folder, "the folder of '" + name + "'");
}

}  // namespace harena::imagestore
