#include "plugins/imagestore-local/blob_folder.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "sdk/digest/sha256.hpp"

namespace harena::imagestore {
namespace {

/// Large enough that hashing and not system calls take the time, small enough to notice a cancel at once.
constexpr std::size_t kChunkBytes = 1 << 20;
/// How often a put that waits for a pipe asks whether it should go on.
constexpr int kPipePollMs = 100;

std::string digest_of(const std::string& hex) { return std::string(kDigestPrefix) + hex; }

bool is_hex_name(std::string_view name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

Error not_stored(std::string_view digest) {
  return make_error(ErrorCode::not_found, "blob " + std::string(digest) + " isn't in the image store");
}

/// A regular file by offset, anything else as it comes.
class Source {
 public:
  static Result<Source> over(int borrow_fd) {
    struct stat status{};
    if (::fstat(borrow_fd, &status) != 0) {
      return make_error(ErrorCode::invalid_argument, "the descriptor to put, " + std::to_string(borrow_fd) + ", isn't open");
    }
    if (S_ISDIR(status.st_mode)) return make_error(ErrorCode::invalid_argument, "the descriptor to put is a folder; a blob is a file");
    return Source(borrow_fd, S_ISREG(status.st_mode) ? status.st_size : -1);
  }
  /// Negative: not known.
  std::int64_t size() const { return size_; }

  Result<std::size_t> read(std::span<char> buffer, const Checkpoint& checkpoint) {
    HARENA_TRY_STATUS(checkpoint());
    if (size_ < 0) HARENA_TRY_STATUS(wait(checkpoint));
    for (;;) {
      const auto got = size_ < 0 ? ::read(fd_, buffer.data(), buffer.size())
                                 : ::pread(fd_, buffer.data(), buffer.size(), offset_);
      if (got >= 0) {
        offset_ += got;
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) return errno_error(errno, "reading the bytes to put");
    }
  }

 private:
  Source(int fd, std::int64_t size) : fd_(fd), size_(size) {}

  Status wait(const Checkpoint& checkpoint) {
    pollfd watched{fd_, POLLIN, 0};
    while (::poll(&watched, 1, kPipePollMs) == 0) HARENA_TRY_STATUS(checkpoint());
    return ok_status();
  }

  int fd_;
  std::int64_t size_;
  off_t offset_ = 0;
};

/// Fails early when the disk can't hold the whole; file systems without fallocate find out while writing.
Status reserve(int fd, std::int64_t size) {
  if (size <= 0 || ::fallocate(fd, 0, 0, size) == 0) return ok_status();
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return ok_status();
  return store_error(errno, "reserving " + std::to_string(size) + " bytes for a blob");
}

struct Copied {
  std::string hex;
  std::int64_t size = 0;
};

Result<Copied> copy_and_hash(Source& source, int to, const Checkpoint& checkpoint) {
  HARENA_TRY_STATUS(reserve(to, source.size()));
  std::vector<char> buffer(kChunkBytes);
  Sha256 hash;
  Copied copied;
  for (;;) {
    HARENA_TRY(const auto got, source.read(buffer, checkpoint));
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), got);
    hash.update(bytes);
    HARENA_TRY_STATUS(write_all(to, bytes, "a blob (" + std::to_string(copied.size) + " bytes written)"));
    copied.size += static_cast<std::int64_t>(got);
  }
  if (source.size() > copied.size && ::ftruncate(to, copied.size) != 0) return store_error(errno, "truncate a blob");
  copied.hex = hash.hex();
  return copied;
}

}  // namespace

Result<std::string> digest_hex(std::string_view digest) {
  const bool right = digest.starts_with(kDigestPrefix) && is_hex_name(digest.substr(kDigestPrefix.size()));
  if (right) return std::string(digest.substr(kDigestPrefix.size()));
  return make_error(ErrorCode::invalid_argument,
                    "'" + std::string(digest.substr(0, 80)) + "' isn't a digest; it must be 'sha256:' and 64 of 0-9 a-f");
}

Result<Blob> BlobFolder::put(std::string_view expected_digest, int borrow_fd, const Checkpoint& checkpoint) {
  std::string expected_hex;
  if (!expected_digest.empty()) {
    HARENA_TRY(expected_hex, digest_hex(expected_digest));
    if (auto there = stat(expected_digest); there && !is_damaged(expected_hex)) return there;
  }
  HARENA_TRY(auto source, Source::over(borrow_fd));
  HARENA_TRY(auto file, TemporaryFile::create(temporary_.get()));
  HARENA_TRY(const auto copied, copy_and_hash(source, file.fd(), checkpoint));
  if (!expected_hex.empty() && copied.hex != expected_hex) {
    return make_error(ErrorCode::data_loss, "the bytes (" + std::to_string(copied.size) + ") have the digest " +
                                                digest_of(copied.hex) + ", not " + std::string(expected_digest));
  }
  return adopt(file, copied.hex, copied.size);
}

Result<Blob> BlobFolder::adopt(TemporaryFile& file, const std::string& hex, std::int64_t size) {
  // The mode before the name: nobody may find a blob that can be written to.
  if (::fchmod(file.fd(), 0400) != 0) return store_error(errno, "chmod a blob");
  HARENA_TRY_STATUS(flush(file.fd(), "a blob"));
  const bool replace = is_damaged(hex);
  const int done = replace ? ::renameat(file.folder(), file.name().c_str(), blobs_.get(), hex.c_str())
                           : ::linkat(file.folder(), file.name().c_str(), blobs_.get(), hex.c_str(), 0);
  if (done != 0 && errno != EEXIST) return store_error(errno, "naming blob " + digest_of(hex));
  // Also when it was there already: its own put may not have come to this line yet.
  HARENA_TRY_STATUS(flush(blobs_.get(), "the folder of the blobs"));
  note_damage(hex, false);
  return Blob{digest_of(hex), size};
}

Result<Blob> BlobFolder::stat(std::string_view digest) const {
  HARENA_TRY(const auto hex, digest_hex(digest));
  struct stat status{};
  if (::fstatat(blobs_.get(), hex.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? not_stored(digest) : store_error(errno, "stat blob " + std::string(digest));
  }
  if (!S_ISREG(status.st_mode)) {
    return infrastructure_error(ErrorCode::data_loss, "image-store", "blob " + std::string(digest) + " is no regular file");
  }
  return Blob{std::string(digest), status.st_size};
}

Status BlobFolder::remove(std::string_view digest) {
  HARENA_TRY(const auto hex, digest_hex(digest));
  if (::unlinkat(blobs_.get(), hex.c_str(), 0) != 0) {
    if (errno == ENOENT) return ok_status();
    return store_error(errno, "removing blob " + std::string(digest));
  }
  note_damage(hex, false);
  return flush(blobs_.get(), "the folder of the blobs");
}

Result<std::vector<Blob>> BlobFolder::list(std::string_view cursor, std::size_t limit) const {
  HARENA_TRY(auto names, names_in(blobs_.get()));
  std::sort(names.begin(), names.end());
  std::vector<Blob> blobs;
  for (const auto& name : names) {
    if (blobs.size() >= limit) break;
    const auto digest = digest_of(name);
    if (!is_hex_name(name) || digest <= cursor) continue;
    if (auto blob = stat(digest)) blobs.push_back(*std::move(blob));  // removed meanwhile: not listed
  }
  return blobs;
}

Result<bool> BlobFolder::check(std::string_view digest, const Checkpoint& checkpoint) {
  HARENA_TRY(const auto hex, digest_hex(digest));
  UniqueFd fd(::openat(blobs_.get(), hex.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return not_stored(digest);
  if (!fd) return store_error(errno, "open blob " + std::string(digest));
  std::vector<char> buffer(kChunkBytes);
  Sha256 hash;
  ssize_t got = 0;
  do {
    HARENA_TRY_STATUS(checkpoint());
    got = ::read(fd.get(), buffer.data(), buffer.size());
    if (got > 0) hash.update(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
  } while (got > 0 || (got < 0 && errno == EINTR));
  const bool whole = got == 0 && hash.hex() == hex;  // a disk that can't read it has damaged it as well
  note_damage(hex, !whole);
  return whole;
}

bool BlobFolder::is_damaged(const std::string& hex) const {
  const std::lock_guard lock(mutex_);
  return damaged_.contains(hex);
}

void BlobFolder::note_damage(const std::string& hex, bool damaged) {
  const std::lock_guard lock(mutex_);
  if (damaged) damaged_.insert(hex);
  else damaged_.erase(hex);
}

}  // namespace harena::imagestore
