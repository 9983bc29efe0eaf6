#include "core/model/project.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

}  // namespace

Status check_name(std::string_view name, std::string_view what) {
  const bool valid = !name.empty() && name.size() <= kMaxNameLength &&
                     std::all_of(name.begin(), name.end(), is_name_char) && name[0] != '.' && name[0] != '-' &&
                     name[0] != '_';
  if (valid) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    std::string(what) + " '" + std::string(name.substr(0, 80)) +
                        "' is not a name: 1 to 63 characters of a-z 0-9 . _ - beginning with a letter or digit");
}

Result<ProjectPath> ProjectPath::parse(std::string_view text) {
  if (text.size() > kMaxProjectPath) {
    return make_error(ErrorCode::invalid_argument, "a project path has at most 256 characters; this has " +
                                                       std::to_string(text.size()));
  }
  const auto parts = split(text, '/');
  if (parts.empty() || parts[0] != kRootProject) {
    return make_error(ErrorCode::invalid_argument,
                      "project '" + std::string(text.substr(0, 80)) + "' must be 'root' or begin with 'root/'");
  }
  for (const auto& part : parts) HARENA_TRY_STATUS(check_name(part, "project part"));
  return ProjectPath(std::string(text));
}

ProjectPath ProjectPath::parent() const {
  const auto slash = path_.rfind('/');
  return slash == std::string::npos ? *this : ProjectPath(path_.substr(0, slash));
}

std::vector<ProjectPath> ProjectPath::with_ancestors() const {
  std::vector<ProjectPath> chain{*this};
  while (!chain.back().is_root()) chain.push_back(chain.back().parent());
  return chain;
}

bool ProjectPath::contains(const ProjectPath& other) const {
  return other.path_ == path_ ||
         (other.path_.size() > path_.size() && other.path_.starts_with(path_) && other.path_[path_.size()] == '/');
}

}  // namespace harena
