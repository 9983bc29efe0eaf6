#pragma once
// FolderStore: the smallest ImageStore, for tests. Blobs are files of a folder, tags are in memory.

#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

#include "core/contracts/image_store.hpp"
#include "core/image/test_tar.hpp"
#include "sdk/digest/sha256.hpp"

namespace harena::image {

class FolderStore final : public ImageStore {
 public:
  explicit FolderStore(std::string folder) : folder_(std::move(folder)) { std::filesystem::create_directories(folder_); }

  Result<StoredBlob> put(const CallContext& call, const std::string& expected, int fd) override {
    if (call.cancelled()) return make_error(ErrorCode::cancelled, "cancelled");
    std::string bytes;
    char buffer[65536];
    for (off_t at = 0;; at += 0) {
      const auto got = ::pread(fd, buffer, sizeof buffer, at);
      if (got <= 0) break;
      bytes.append(buffer, static_cast<std::size_t>(got));
      at += got;
    }
    const auto digest = "sha256:" + sha256_hex(bytes);
    if (!expected.empty() && expected != digest) return make_error(ErrorCode::data_loss, "another digest");
    write_file(path(digest), bytes);
    return StoredBlob{digest, static_cast<std::int64_t>(bytes.size())};
  }
  Result<OpenedBlob> open(const CallContext&, const std::string& digest) override {
    struct stat status{};
    if (::stat(path(digest).c_str(), &status) != 0) return make_error(ErrorCode::not_found, "no blob " + digest);
    return OpenedBlob{path(digest), status.st_size};
  }
  Result<std::vector<TagEntry>> list(const CallContext&, const std::string& prefix, const std::string& cursor, std::int64_t limit) override {
    std::vector<TagEntry> page;
    for (const auto& [reference, digest] : tags) {
      if (reference > cursor && reference.starts_with(prefix) && static_cast<std::int64_t>(page.size()) < limit) page.push_back({reference, digest});
    }
    return page;
  }
  Result<std::string> resolve(const CallContext&, const std::string& reference) override {
    if (!tags.contains(reference)) return make_error(ErrorCode::not_found, "no " + reference);
    return tags.at(reference);
  }
  Status tag(const CallContext&, const std::string& reference, const std::string& digest) override {
    tags[reference] = digest;
    return ok_status();
  }
  Status remove(const CallContext&, const std::string& what) override {
    if (what.starts_with("sha256:")) std::filesystem::remove(path(what));
    else tags.erase(what);
    return ok_status();
  }
  Result<std::vector<StoredBlob>> list_blobs(const CallContext&, const std::string& cursor, std::int64_t limit) override {
    std::map<std::string, std::int64_t> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      all["sha256:" + entry.path().filename().string()] = static_cast<std::int64_t>(entry.file_size());
    }
    std::vector<StoredBlob> page;
    for (const auto& [digest, size] : all) {
      if (digest > cursor && static_cast<std::int64_t>(page.size()) < limit) page.push_back({digest, size});
    }
    return page;
  }
  Result<std::vector<std::string>> check(const CallContext&, const std::string&) override { return std::vector<std::string>(); }

  std::string path(const std::string& digest) const { return folder_ + "/" + digest.substr(7); }
  std::size_t blobs() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::map<std::string, std::string> tags;

 private:
  std::string folder_;
};

}  // namespace harena::image
