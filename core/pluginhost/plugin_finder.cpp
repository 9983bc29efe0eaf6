#include "core/pluginhost/plugin_finder.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"
#include "sdk/loader/manifest.hpp"

namespace harena {

namespace fs = std::filesystem;

namespace {

/// What a search saw.
struct Seen {
  std::vector<std::string> names;
  std::vector<std::string> passed_over;
};

/// The name becomes part of a path.
bool is_plugin_name(const std::string& name) {
  return !name.empty() && name.size() <= 128 && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

/// What others may have written is never parsed.
Result<loader::Manifest> trusted_manifest(const fs::path& folder, loader::OwnerPolicy policy) {
  HARENA_TRY_STATUS(loader::check_owner(folder, policy));
  HARENA_TRY_STATUS(loader::check_owner(folder / loader::kManifestFile, policy));
  return loader::read_manifest(folder);
}

bool is_plugin(const fs::path& folder, const std::string& name, loader::OwnerPolicy policy, Seen& seen) {
  std::error_code failed;
  if (!fs::exists(folder / loader::kManifestFile, failed)) return false;
  const auto manifest = trusted_manifest(folder, policy);
  if (!manifest) {
    seen.passed_over.push_back(manifest.error().message);
    return false;
  }
  seen.names.push_back(manifest->name);
  return manifest->name == name || manifest->id == name;
}

std::vector<fs::path> subfolders(const fs::path& folder, const std::string& first) {
  std::vector<fs::path> found;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed)) {
    found.push_back(it->path());
  }
  std::sort(found.begin(), found.end(), [&](const fs::path& a, const fs::path& b) {
    const bool a_first = a.filename() == first, b_first = b.filename() == first;
    return a_first != b_first ? a_first : a < b;
  });
  return found;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : separator) + part;
  return text;
}

Error not_found(const std::vector<std::string>& folders, const std::string& name, const Seen& seen) {
  std::string message = "there is no plugin '" + name + "' in " + joined(folders, ", ");
  if (const auto near = nearest(name, seen.names)) message += ", did you mean '" + *near + "'?";
  message += "; there: " + (seen.names.empty() ? "none" : joined(seen.names, ", "));
  if (!seen.passed_over.empty()) message += "; passed over: " + joined(seen.passed_over, "; ");
  return make_error(ErrorCode::not_found, std::move(message));
}

}  // namespace

Result<fs::path> find_plugin(const std::vector<std::string>& folders, const std::string& name,
                             loader::OwnerPolicy policy) {
  if (!is_plugin_name(name)) {
    return make_error(ErrorCode::invalid_argument, "'" + name.substr(0, 80) +
                                                       "' is no name of a plugin; a short name (container) or an id "
                                                       "(dev.harena.container) is right");
  }
  Seen seen;
  for (const auto& folder : folders) {
    for (const auto& candidate : subfolders(folder, name)) {
      if (is_plugin(candidate, name, policy, seen)) return candidate;
    }
  }
  return not_found(folders, name, seen);
}

}  // namespace harena
