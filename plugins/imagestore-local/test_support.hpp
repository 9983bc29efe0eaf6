#pragma once
// What the tests of this plugin share.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "plugins/imagestore-local/local_store.hpp"

namespace harena::imagestore {

/// A temporary folder that goes with the object.
class TestFolder {
 public:
  TestFolder() {
    std::string name = std::filesystem::temp_directory_path() / "harena-store-XXXXXX";
    path_ = ::mkdtemp(name.data());
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  std::string path(const std::string& name = "") const { return path_ + (name.empty() ? "" : "/" + name); }

 private:
  std::string path_;
};

inline UniqueFd memory_file(std::string_view bytes) {
  UniqueFd fd(::memfd_create("bytes", MFD_CLOEXEC));
  if (!write_all(fd.get(), bytes, "memfd")) std::abort();
  return fd;
}

inline Status go_on() { return ok_status(); }

inline std::string put_text(LocalStore& store, std::string_view bytes) {
  const auto file = memory_file(bytes);
  auto blob = store.put("", file.get(), go_on);
  return blob ? blob->digest : "error: " + blob.error().message;
}

inline std::unique_ptr<LocalStore> open_store(const std::string& root) {
  auto store = LocalStore::open(root);
  return store ? *std::move(store) : nullptr;
}

inline std::size_t count_in(const std::string& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace harena::imagestore
