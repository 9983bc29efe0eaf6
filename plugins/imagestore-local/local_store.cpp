#include "plugins/imagestore-local/local_store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

namespace harena::imagestore {
namespace {

constexpr const char* kVersionFile = "version";
constexpr std::string_view kVersion = "{\"version\": 1}\n";
constexpr std::size_t kMaxVersionBytes = 256;

Result<UniqueFd> open_root(const std::string& root) {
  if (!std::filesystem::path(root).is_absolute()) {
    return make_error(ErrorCode::invalid_argument, "image store: root is '" + root + "'; it must be an absolute path");
  }
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(root).parent_path(), failure);
  if (failure) return store_error(failure.value(), "image store: making the folder above '" + root + "'");
  if (::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) return store_error(errno, "image store: mkdir '" + root + "'");
  UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return store_error(errno, "image store: open root '" + root + "'");
  return fd;
}

/// Before the first change: is it ours, or empty but for what a start that was cut off leaves?
Status check_root(int folder, const std::string& root) {
  HARENA_TRY(const auto names, names_in(folder));
  const bool marked = std::find(names.begin(), names.end(), kVersionFile) != names.end();
  const bool foreign = std::any_of(names.begin(), names.end(), [](const auto& name) { return name != "lock" && name != "tmp"; });
  if (!marked && foreign) {
    return make_error(ErrorCode::failed_precondition, "image store: root '" + root +
                                                          "' is neither empty nor an image store; name another folder");
  }
  if (!marked) return ok_status();
  HARENA_TRY(const auto version, read_small_file(folder, kVersionFile, kMaxVersionBytes));
  if (version == kVersion) return ok_status();
  return make_error(ErrorCode::failed_precondition, "image store: '" + root + "/version' says " + version.substr(0, version.find('\n')) +
                                                        "; this release reads {\"version\": 1}");
}

/// Held until the process ends, however it ends; so emptying tmp/ can't hurt another's work.
Result<UniqueFd> take_lock(int folder, const std::string& root) {
  UniqueFd fd(::openat(folder, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return store_error(errno, "image store: open '" + root + "/lock'");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return store_error(errno, "image store: lock '" + root + "/lock'");
  return make_error(ErrorCode::failed_precondition, "image store: '" + root + "' is used by another process");
}

Status empty_folder(int folder) {
  HARENA_TRY(const auto names, names_in(folder));
  for (const auto& name : names) {
    if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) return store_error(errno, "removing 'tmp/" + name + "'");
  }
  return ok_status();
}

Result<UniqueFd> same_folder(const UniqueFd& folder) {
  UniqueFd copy(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return store_error(errno, "dup a folder");
  return copy;
}

}  // namespace

Result<std::unique_ptr<LocalStore>> LocalStore::open(const std::string& root) {
  HARENA_TRY(const auto folder, open_root(root));
  HARENA_TRY_STATUS(check_root(folder.get(), root));
  std::unique_ptr<LocalStore> store(new LocalStore);
  store->root_ = std::filesystem::path(root).lexically_normal().string();
  HARENA_TRY(store->lock_, take_lock(folder.get(), root));
  HARENA_TRY(auto temporary, ensure_folder(folder.get(), "tmp"));
  HARENA_TRY_STATUS(empty_folder(temporary.get()));
  HARENA_TRY_STATUS(replace_file(temporary.get(), folder.get(), kVersionFile, kVersion));
  if (::fchmod(folder.get(), 0700) != 0) return store_error(errno, "image store: chmod '" + root + "'");
  HARENA_TRY(const auto blobs, ensure_folder(folder.get(), "blobs"));
  HARENA_TRY(auto sha256, ensure_folder(blobs.get(), "sha256"));
  HARENA_TRY(auto tags, ensure_folder(folder.get(), "tags"));
  HARENA_TRY_STATUS(flush(blobs.get(), "'blobs'"));
  HARENA_TRY_STATUS(flush(folder.get(), "'" + root + "'"));
  HARENA_TRY(auto second, same_folder(temporary));
  store->blobs_ = std::make_unique<BlobFolder>(std::move(sha256), std::move(temporary));
  HARENA_TRY(store->tags_, TagFolder::load(std::move(tags), std::move(second), &store->damaged_tags_));
  return store;
}

std::string LocalStore::path_of(std::string_view digest) const {
  return root_ + "/blobs/sha256/" + std::string(digest.substr(kDigestPrefix.size()));
}

Status LocalStore::tag(std::string_view reference, std::string_view digest) {
  return tags_->set(reference, digest, [&]() -> Status {
    HARENA_TRY_STATUS(blobs_->stat(digest));
    return ok_status();
  });
}

Status LocalStore::remove(std::string_view reference_or_digest) {
  if (!reference_or_digest.starts_with(kDigestPrefix)) return tags_->remove(reference_or_digest);
  HARENA_TRY(const auto hex, digest_hex(reference_or_digest));
  return tags_->remove_blob(reference_or_digest, [&] { return blobs_->remove(reference_or_digest); });
}

}  // namespace harena::imagestore
