#include "shim/paths.hpp"

#include "sdk/base/text.hpp"
#include "sdk/session/file_messages.hpp"

namespace harena::shim {
namespace {

Error invalid_path(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

}  // namespace

Status check_path(const std::string& path) {
  if (path.empty()) return make_error(ErrorCode::invalid_argument, "the path is empty");
  if (path.size() > session::kMaxPathBytes) {
    auto most = std::to_string(session::kMaxPathBytes);
    return make_error(ErrorCode::invalid_argument, "path of " + std::to_string(path.size()) + " bytes: at most " + most);
  }
  if (path.find('\0') != std::string::npos) return make_error(ErrorCode::invalid_argument, "the path has a NUL byte");
  return {};
}

std::string strip_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Result<SplitPath> split_path(const std::string& path) {
  HARENA_TRY_STATUS(check_path(path));
  std::string stripped = strip_slashes(path);
  auto slash = stripped.rfind('/');
  std::string name = slash == std::string::npos ? stripped : stripped.substr(slash + 1);
  if (name.empty() || name == "." || name == "..") return invalid_path("path '" + path + "' doesn't end in a name");
  bool top = slash == std::string::npos || slash == 0;
  return SplitPath{top ? "/" : stripped.substr(0, slash), std::move(name)};
}

std::string behind_link(const std::string& path, const std::string& target) {
  if (target.starts_with('/')) return target;
  auto slash = strip_slashes(path).rfind('/');
  return (slash == std::string::npos ? "/" : path.substr(0, slash + 1)) + target;
}

Result<std::vector<std::string>> inside_path(const std::string& path) {
  if (path.empty()) return invalid_path("its path is empty");
  if (path.find('\0') != std::string::npos) return invalid_path("its path has a NUL byte");
  if (path.front() == '/') return invalid_path("its path is absolute; only paths inside of the folder are extracted");
  std::vector<std::string> parts;
  for (auto& part : split(path, '/')) {
    if (part == "..") return invalid_path("its path has '..'; only paths inside of the folder are extracted");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace harena::shim
