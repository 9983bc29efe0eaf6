#include "plugins/microvm/template_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <vector>

#include "sdk/support/files.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;
/// A folder that is no template yet.
constexpr const char* kUnfinished = ".new";
constexpr const char* kManifest = "manifest.json";

void remove_folder(const std::string& parent, const std::string& name) {
  UniqueFd at(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (at) (void)remove_tree_at(at.get(), name);
}

}  // namespace

Result<std::unique_ptr<TemplateStore>> TemplateStore::open(const std::string& folder, std::size_t most) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) return errno_error(failed.value(), "making " + folder);
  fs::permissions(folder, fs::perms::owner_all, failed);
  HARENA_TRY(const auto names, list_directory(AT_FDCWD, folder));
  for (const auto& name : names) {
    if (name.ends_with(kUnfinished)) remove_folder(folder, name);
  }
  return std::unique_ptr<TemplateStore>(new TemplateStore(folder, most));
}

std::optional<std::string> TemplateStore::find(const std::string& key) const {
  std::lock_guard lock(mutex_);
  const std::string path = folder_ + "/" + key;
  if (::access((path + "/" + kManifest).c_str(), F_OK) != 0) return std::nullopt;
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // used now
  return path;
}

Result<std::string> TemplateStore::begin(const std::string& key) const {
  const std::string name = key + kUnfinished;
  remove_folder(folder_, name);
  if (::mkdir((folder_ + "/" + name).c_str(), 0700) != 0) return errno_error(errno, "making a template's folder in " + folder_);
  return folder_ + "/" + name;
}

Result<std::string> TemplateStore::keep(const std::string& key) {
  std::lock_guard lock(mutex_);
  const std::string path = folder_ + "/" + key;
  remove_folder(folder_, key);
  if (::rename((path + kUnfinished).c_str(), path.c_str()) != 0) return errno_error(errno, "keeping a template");
  (void)::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);
  evict();
  return path;
}

void TemplateStore::discard(const std::string& key) const {
  std::lock_guard lock(mutex_);
  remove_folder(folder_, key);
}

void TemplateStore::evict() const {
  std::error_code failed;
  std::vector<std::pair<fs::file_time_type, std::string>> all;
  for (const auto& entry : fs::directory_iterator(folder_, failed)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(kUnfinished)) all.emplace_back(fs::last_write_time(entry.path(), failed), name);
  }
  std::sort(all.begin(), all.end());
  for (std::size_t i = 0; i + most_ < all.size(); ++i) remove_folder(folder_, all[i].second);
}

}  // namespace harena::microvm
