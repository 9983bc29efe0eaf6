#pragma once
// Projects are paths of any depth: root/rl/job-42/agent-7. Rights and quotas are inherited downwards.

#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena {

inline constexpr std::string_view kRootProject = "root";
/// Named limits of a project path; they keep keys of the state store under 1,024 bytes.
inline constexpr std::size_t kMaxProjectPath = 256;
inline constexpr std::size_t kMaxNameLength = 63;

/// A name of a project's part, a task or an image: 1 to 63 characters of [a-z0-9._-], beginning with a letter or a
/// digit. `what` begins the message of the error ("task").
Status check_name(std::string_view name, std::string_view what);

class ProjectPath {
 public:
  /// "root" or "root/part/..."; invalid_argument names the part that is wrong.
  static Result<ProjectPath> parse(std::string_view text);
  static ProjectPath root() { return ProjectPath(std::string(kRootProject)); }

  const std::string& str() const { return path_; }
  bool is_root() const { return path_ == kRootProject; }
  /// The root is its own parent.
  ProjectPath parent() const;
  /// Itself first, the root last: the order in which quotas are reserved.
  std::vector<ProjectPath> with_ancestors() const;
  /// True for itself and everything below it.
  bool contains(const ProjectPath& other) const;
  auto operator<=>(const ProjectPath&) const = default;

 private:
  explicit ProjectPath(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace harena
