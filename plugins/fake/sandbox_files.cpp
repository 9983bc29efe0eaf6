#include "plugins/fake/sandbox_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "sdk/base/unique_fd.hpp"

namespace harena::fake {
namespace fs = std::filesystem;

Status check_id(std::string_view id) {
  bool good = !id.empty() && id.size() <= 64 && std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c) != 0; });
  if (good) return ok_status();
  return make_error(ErrorCode::invalid_argument, "sandbox id '" + std::string(id.substr(0, 80)) + "' isn't 1 to 64 letters and digits");
}

Result<SandboxFiles> SandboxFiles::open(fs::path folder) {
  std::error_code failed;
  for (const char* part : {"sandboxes", "counts"}) {
    fs::create_directories(folder / part, failed);
    if (failed) return errno_error(failed.value(), "making " + (folder / part).string());
  }
  return SandboxFiles(std::move(folder));
}

Status SandboxFiles::reserve(const std::string& id) const {
  UniqueFd fd(::open(path_of(id).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (fd) return ok_status();
  if (errno == EEXIST) return make_error(ErrorCode::already_exists, "sandbox '" + id + "' exists");
  return errno_error(errno, "making " + path_of(id).string());
}

Status SandboxFiles::write(const std::string& id, const json& entry) const {
  fs::path fresh = path_of(id);
  fresh += ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << entry.dump();
  file.close();
  if (!file) return errno_error(errno, "writing " + fresh.string());
  std::error_code failed;
  fs::rename(fresh, path_of(id), failed);
  if (failed) return errno_error(failed.value(), "renaming " + fresh.string());
  return ok_status();
}

Result<json> SandboxFiles::read(const std::string& id) const {
  std::ifstream file(path_of(id), std::ios::binary);
  if (!file) return make_error(ErrorCode::not_found, "sandbox '" + id + "' isn't known to the fake");
  std::stringstream text;
  text << file.rdbuf();
  json entry = json::parse(text.str(), nullptr, false);
  return entry.is_object() ? entry : json::object();
}

Status SandboxFiles::remove(const std::string& id) const {
  fs::path fresh = path_of(id);
  fresh += ".new";
  std::error_code failed;
  fs::remove(fresh, failed);
  fs::remove(path_of(id), failed);
  if (failed) return errno_error(failed.value(), "removing " + path_of(id).string());
  for (const auto& count : fs::directory_iterator(counts_folder(), failed)) {
    if (count.path().filename().string().starts_with(id + ".")) fs::remove(count.path(), failed);
  }
  return ok_status();
}

std::vector<std::string> SandboxFiles::ids() const {
  std::vector<std::string> ids;
  std::error_code failed;
  for (const auto& entry : fs::directory_iterator(folder_ / "sandboxes", failed)) {
    if (entry.path().extension() == ".json") ids.push_back(entry.path().stem());
  }
  std::ranges::sort(ids);
  return ids;
}

}  // namespace harena::fake
