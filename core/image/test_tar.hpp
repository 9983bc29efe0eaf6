#pragma once
// TestTar: tars of any content for tests, hostile ones included.

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace harena::image {

/// A temporary folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "harena-image-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name = "") const { return path_ + (name.empty() ? "" : "/" + name); }

 private:
  std::string path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Written when the object ends. `filter`: 0 none, or ARCHIVE_FILTER_GZIP and the like.
class TestTar {
 public:
  explicit TestTar(std::string path, int filter = ARCHIVE_FILTER_NONE, int format = ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE)
      : path_(std::move(path)), archive_(::archive_write_new()) {
    ::archive_write_set_format(archive_, format);
    ::archive_write_add_filter(archive_, filter);
    ::archive_write_open_filename(archive_, path_.c_str());
  }
  ~TestTar() { ::archive_write_free(archive_); }
  TestTar(const TestTar&) = delete;
  TestTar& operator=(const TestTar&) = delete;

  struct Attributes {
    unsigned mode = 0644;
    int uid = 0;
    int gid = 0;
    long mtime = 1'000'000'000;
    std::vector<std::pair<std::string, std::string>> xattrs = {};
  };

  TestTar& file(const std::string& name, const std::string& bytes, const Attributes& a) { return add(name, AE_IFREG, bytes, a); }
  TestTar& file(const std::string& name, const std::string& bytes) { return file(name, bytes, {}); }
  TestTar& folder(const std::string& name, const Attributes& a) { return add(name, AE_IFDIR, "", a); }
  TestTar& folder(const std::string& name) { return folder(name, {.mode = 0755}); }
  TestTar& symlink(const std::string& name, const std::string& target) {
    return add(name, AE_IFLNK, "", {}, [&](archive_entry* e) { ::archive_entry_set_symlink(e, target.c_str()); });
  }
  TestTar& hardlink(const std::string& name, const std::string& target) {
    return add(name, AE_IFREG, "", {}, [&](archive_entry* e) { ::archive_entry_set_hardlink(e, target.c_str()); });
  }
  TestTar& device(const std::string& name, dev_t device) {
    return add(name, AE_IFCHR, "", {}, [&](archive_entry* e) { ::archive_entry_set_rdev(e, device); });
  }
  TestTar& fifo(const std::string& name) { return add(name, AE_IFIFO, "", {}); }

 private:
  template <class F = void (*)(archive_entry*)>
  TestTar& add(const std::string& name, unsigned type, const std::string& bytes, const Attributes& a,
               F more = [](archive_entry*) {}) {
    archive_entry* entry = ::archive_entry_new();
    ::archive_entry_set_pathname(entry, name.c_str());
    ::archive_entry_set_filetype(entry, type);
    ::archive_entry_set_perm(entry, static_cast<mode_t>(a.mode));
    ::archive_entry_set_uid(entry, a.uid);
    ::archive_entry_set_gid(entry, a.gid);
    ::archive_entry_set_mtime(entry, a.mtime, 0);
    ::archive_entry_set_size(entry, static_cast<la_int64_t>(bytes.size()));
    for (const auto& [key, value] : a.xattrs) ::archive_entry_xattr_add_entry(entry, key.c_str(), value.data(), value.size());
    more(entry);
    ::archive_write_header(archive_, entry);
    if (!bytes.empty()) ::archive_write_data(archive_, bytes.data(), bytes.size());
    ::archive_entry_free(entry);
    return *this;
  }

  std::string path_;
  archive* archive_;
};

}  // namespace harena::image
