#include "sdk/loader/file_check.hpp"

#include <sys/stat.h>
#include <unistd.h>

#define BOOST_DLL_USE_STD_FS
#include <algorithm>
#include <boost/dll/library_info.hpp>

#include "sdk/digest/sha256.hpp"

namespace harena::loader {
namespace {

std::string octal(mode_t mode) {
  std::string text = "0000";
  for (int i = 3; i >= 0; --i, mode >>= 3) text[static_cast<std::size_t>(i)] = static_cast<char>('0' + (mode & 7));
  return text;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 5); ++i) text += (i > 0 ? ", " : "") + names[i];
  return names.size() > 5 ? text + " and " + std::to_string(names.size() - 5) + " more" : text;
}

}  // namespace

Status check_owner(const std::filesystem::path& path, OwnerPolicy policy) {
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return errno_error(errno, "looking at " + path.string());
  bool ours = policy == OwnerPolicy::root_or_self && st.st_uid == ::geteuid();
  if (st.st_uid != 0 && !ours) {
    return make_error(ErrorCode::permission_denied, path.string() + " belongs to user " + std::to_string(st.st_uid) +
                                                        "; root (0) is right: chown root " + path.string());
  }
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return make_error(ErrorCode::permission_denied, path.string() + " has mode " + octal(st.st_mode & 07777) +
                                                        "; not writable by group and others is right: chmod go-w " + path.string());
  }
  return ok_status();
}

Status check_hash(const std::filesystem::path& library, const std::string& expected_sha256) {
  HARENA_TRY(std::string actual, sha256_file(library));
  if (actual == expected_sha256) return ok_status();
  return make_error(ErrorCode::data_loss, library.string() + " has sha256 " + actual + ", its manifest says " +
                                              expected_sha256 + ": install the plugin again");
}

Status check_exports(const std::filesystem::path& library) try {
  boost::dll::library_info info(library);
  auto names = info.symbols();
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  auto entry = std::ranges::find(names, kEntrySymbol);
  if (entry == names.end()) {
    return make_error(ErrorCode::invalid_argument, library.string() + " doesn't export " + std::string(kEntrySymbol) + ": it is no Harena plugin");
  }
  names.erase(entry);
  if (names.empty()) return ok_status();
  return make_error(ErrorCode::invalid_argument, library.string() + " exports " + joined(names) + "; " +
                                                     std::string(kEntrySymbol) + " alone is right (harena_add_plugin's version script sees to it)");
} catch (const std::exception& e) {
  return make_error(ErrorCode::invalid_argument, library.string() + " isn't a shared library of this machine: " + e.what());
}

Result<Manifest> check_files(const std::filesystem::path& folder, OwnerPolicy policy) {
  HARENA_TRY_STATUS(check_owner(folder, policy));
  HARENA_TRY_STATUS(check_owner(folder / kManifestFile, policy));
  HARENA_TRY(Manifest manifest, read_manifest(folder));
  HARENA_TRY_STATUS(check_owner(folder / manifest.library, policy));
  HARENA_TRY_STATUS(check_abi(manifest.name, manifest.abi));
  HARENA_TRY_STATUS(check_hash(folder / manifest.library, manifest.sha256));
  HARENA_TRY_STATUS(check_exports(folder / manifest.library));
  return manifest;
}

}  // namespace harena::loader
