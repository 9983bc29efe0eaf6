#include "plugins/microvm/image_digests.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/digest/sha256.hpp"
#include "sdk/support/files.hpp"

namespace harena::microvm {
namespace {

using nlohmann::json;

constexpr int kDigestsVersion = 1;
/// 64 digits for each 4 MiB: this is enough for files of 1 TiB and more.
constexpr std::size_t kMostDigestBytes = 64 << 20;

struct Stamp {
  std::int64_t bytes = 0;
  std::uint64_t inode = 0;
  std::int64_t mtime_ns = 0;
};

class ImageFile {
 public:
  static Result<ImageFile> open(const std::string& folder, const std::string& name) {
    ImageFile file(name);
    file.fd_ = UniqueFd(::open((folder + "/" + name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    if (!file.fd_ && errno == ENOENT) return make_error(ErrorCode::data_loss, "the machine image lacks its file " + name);
    struct stat status{};
    if (!file.fd_ || ::fstat(file.fd_.get(), &status) != 0) return errno_error(errno, "opening " + name + " of a machine image");
    file.stamp_ = {status.st_size, status.st_ino, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec};
    return file;
  }

  const Stamp& stamp() const { return stamp_; }
  std::size_t chunks() const { return static_cast<std::size_t>((stamp_.bytes + kDigestChunkBytes - 1) / kDigestChunkBytes); }

  /// Empty for one that holds zeros alone.
  Result<std::string> digest_of(std::size_t chunk) {
    const std::int64_t begin = static_cast<std::int64_t>(chunk) * kDigestChunkBytes;
    const std::int64_t size = std::min(kDigestChunkBytes, stamp_.bytes - begin);
    const off_t data = ::lseek(fd_.get(), begin, SEEK_DATA);
    if ((data < 0 && errno == ENXIO) || data >= begin + size) return std::string();
    buffer_.resize(static_cast<std::size_t>(size));
    HARENA_TRY_STATUS(fill(begin));
    const bool zeros = buffer_[0] == 0 && std::memcmp(buffer_.data(), buffer_.data() + 1, buffer_.size() - 1) == 0;
    return zeros ? std::string() : sha256_hex({buffer_.data(), buffer_.size()});
  }

 private:
  explicit ImageFile(std::string name) : name_(std::move(name)) {}

  Status fill(std::int64_t at) {
    for (std::size_t done = 0; done < buffer_.size();) {
      const ssize_t got = ::pread(fd_.get(), buffer_.data() + done, buffer_.size() - done, at + static_cast<std::int64_t>(done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return errno_error(errno, "reading " + name_ + " of a machine image");
      if (got == 0) return make_error(ErrorCode::data_loss, name_ + " of a machine image became shorter while it was read");
      done += static_cast<std::size_t>(got);
    }
    return {};
  }

  std::string name_;
  UniqueFd fd_;
  Stamp stamp_;
  std::vector<char> buffer_;
};

json stamp_json(const Stamp& stamp) { return {stamp.inode, stamp.mtime_ns}; }

Result<json> digests_of(const std::string& folder, const std::string& name, const std::function<bool()>& go_on) {
  HARENA_TRY(ImageFile file, ImageFile::open(folder, name));
  json chunks = json::array();
  for (std::size_t i = 0; i < file.chunks(); ++i) {
    if (!go_on()) return make_error(ErrorCode::cancelled, "hashing a machine image was called off");
    HARENA_TRY(std::string digest, file.digest_of(i));
    chunks.push_back(std::move(digest));
  }
  return json{{"bytes", file.stamp().bytes}, {"stamp", stamp_json(file.stamp())}, {"chunks", std::move(chunks)}};
}

Result<std::vector<std::string>> files_of(const std::string& folder) {
  HARENA_TRY(const auto image, MachineImage::read(folder));
  auto names = image.files();
  names.push_back(kManifestFile);
  return names;
}

std::string own_digest(json document) {
  document.erase("digest");
  return sha256_hex(document.dump());
}

Status write_digests(const std::string& folder, json document) {
  document["digest"] = own_digest(document);
  HARENA_TRY(UniqueFd at, open_directory(AT_FDCWD, folder));
  // Others may write theirs at the same time: two creates from a copy both stamp it anew.
  std::string fresh = folder + "/" + kDigestsFile + ".new.XXXXXX";
  UniqueFd file(::mkostemp(fresh.data(), O_CLOEXEC));
  if (!file) return errno_error(errno, "making digests of a machine image");
  Status written = create_file_at(AT_FDCWD, fresh, document.dump(), 0600);
  if (written.ok() && ::fsync(file.get()) != 0) written = errno_error(errno, "writing digests of a machine image to the disk");
  if (written.ok() && ::renameat(AT_FDCWD, fresh.c_str(), at.get(), kDigestsFile) != 0) {
    written = errno_error(errno, "renaming digests of a machine image");
  }
  if (!written.ok()) {
    ::unlink(fresh.c_str());
    return written;
  }
  return ::fsync(at.get()) == 0 ? Status() : Status(errno_error(errno, "writing the folder of a machine image to the disk"));
}

Error unreadable(const std::string& why) {
  return make_error(ErrorCode::data_loss, "the digests of a machine image can't be read: " + why);
}

/// "ram.1 of the machine image WHAT".
Error not_as_it_was(const std::string& name, const std::string& what) {
  return make_error(ErrorCode::data_loss, name + " of the machine image " + what);
}

Result<json> read_digests(const std::string& folder) {
  HARENA_TRY(const std::string text, read_file_at(AT_FDCWD, folder + "/" + kDigestsFile, kMostDigestBytes));
  if (text.empty()) return make_error(ErrorCode::not_found, "the digests of a machine image are empty");
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object() || !document.contains("harena_image_digests")) return unreadable("it is no such document");
  const json& version = document["harena_image_digests"];
  if (version != kDigestsVersion) {
    return make_error(ErrorCode::failed_precondition, "digests of a machine image of version " + version.dump() +
                                                          "; this release reads " + std::to_string(kDigestsVersion));
  }
  if (document.value("digest", json()) != own_digest(document)) return unreadable("its own digest isn't right");
  const bool whole = document.value("chunk_bytes", json()) == kDigestChunkBytes && document.value("files", json()).is_object();
  if (!whole) return unreadable("fields are missing");
  return document;
}

/// Whether it had to be read. `entry` gets its new stamp.
Result<bool> verify_file(const std::string& folder, const std::string& name, json& entry, Verify what) {
  HARENA_TRY(ImageFile file, ImageFile::open(folder, name));
  const json chunks = entry.value("chunks", json::array());
  const auto bytes = entry.value("bytes", std::int64_t{-1});
  if (file.stamp().bytes != bytes) {
    return not_as_it_was(name, "has " + std::to_string(file.stamp().bytes) + " bytes; it had " + std::to_string(bytes));
  }
  if (!chunks.is_array() || chunks.size() != file.chunks()) return unreadable("chunks of " + name + " are missing");
  const json stamp = stamp_json(file.stamp());
  if (what == Verify::changed && entry.value("stamp", json()) == stamp) return false;
  for (std::size_t i = 0; i < file.chunks(); ++i) {
    HARENA_TRY(const std::string digest, file.digest_of(i));
    if (chunks[i] == digest) continue;
    const auto begin = static_cast<std::int64_t>(i) * kDigestChunkBytes;
    const auto end = std::min(begin + kDigestChunkBytes, bytes);
    return not_as_it_was(name, "isn't what it was: bytes " + std::to_string(begin) + " to " + std::to_string(end) + " have another SHA-256");
  }
  entry["stamp"] = stamp;
  return true;
}

}  // namespace

bool is_sealed(const std::string& folder) {
  struct stat status{};
  return ::stat((folder + "/" + kDigestsFile).c_str(), &status) == 0 && status.st_size > 0;
}

Status seal_image(const std::string& folder, const std::function<bool()>& go_on) {
  HARENA_TRY(const auto image, MachineImage::read(folder));
  HARENA_TRY_STATUS(image.check_files(folder));
  HARENA_TRY_STATUS(image.sync(folder));
  HARENA_TRY(const auto names, files_of(folder));
  json files = json::object();
  for (const auto& name : names) {
    HARENA_TRY(files[name], digests_of(folder, name, go_on));
  }
  const json document = {{"harena_image_digests", kDigestsVersion}, {"chunk_bytes", kDigestChunkBytes}, {"files", std::move(files)}};
  return write_digests(folder, document);
}

Status verify_image(const std::string& folder, Verify what) {
  auto document = read_digests(folder);
  if (!document.ok() && document.error().code == ErrorCode::not_found) {
    if (what == Verify::changed) return {};
    return make_error(ErrorCode::failed_precondition, "the machine image isn't sealed yet: its digests are still being made");
  }
  if (!document.ok()) return std::move(document).error();
  bool stamped = false;
  const auto verify = [&](const std::string& name) -> Status {
    json& files = (*document)["files"];
    if (!files.contains(name)) return unreadable("it has none of " + name);
    HARENA_TRY(const bool read, verify_file(folder, name, files[name], what));
    stamped = stamped || read;
    return {};
  };
  HARENA_TRY_STATUS(verify(kManifestFile));  // before anything that it says is believed
  HARENA_TRY(const auto names, files_of(folder));
  for (const auto& name : names) {
    if (name != kManifestFile) HARENA_TRY_STATUS(verify(name));
  }
  // A folder that can't be written is well too: it is read again the next time.
  if (stamped) (void)write_digests(folder, *std::move(document));
  return {};
}

}  // namespace harena::microvm
