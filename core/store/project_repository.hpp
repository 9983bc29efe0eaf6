#pragma once
// ProjectRepository: the tree of projects.

#include <optional>
#include <string>
#include <vector>

#include "core/contracts/state_store.hpp"
#include "core/model/project.hpp"

namespace harena {

/// Upper bounds for a project and everything below it; absent: unlimited. Zero is a limit.
struct QuotaLimits {
  std::optional<std::int64_t> sandboxes;
  std::optional<std::int64_t> cpu_milli;     ///< thousandths of a CPU
  std::optional<std::int64_t> memory_bytes;
  bool operator==(const QuotaLimits&) const = default;
};

struct ProjectRecord {
  ProjectPath path = ProjectPath::root();
  std::int64_t created_ms = 0;
  std::string created_by;  ///< principal
  QuotaLimits limits;
};

nlohmann::json to_json(const ProjectRecord& record);
/// data_loss for what to_json can't have written.
Result<ProjectRecord> project_from_json(const nlohmann::json& value);

/// Thread-safe, blocking. Safe with several writers: a child is made only while its parent exists, and a project is
/// removed only while it has no child (both transactions check and touch the parent's revision).
class ProjectRepository {
 public:
  /// `store` must outlive this.
  explicit ProjectRepository(StateStore& store) : store_(store) {}

  /// already_exists; not_found names the parent that is missing. aborted when the parent changed meanwhile: repeat.
  Status create(const CallContext& call, const ProjectRecord& record);
  /// Replaces the limits; not_found.
  Result<ProjectRecord> set_limits(const CallContext& call, const ProjectPath& path, const QuotaLimits& limits);
  Result<ProjectRecord> get(const CallContext& call, const ProjectPath& path);
  /// All, by path.
  Result<std::vector<ProjectRecord>> load_all(const CallContext& call);
  /// failed_precondition names a child; invalid_argument for the root; ok when absent. aborted when a child was made
  /// meanwhile: repeat.
  Status remove(const CallContext& call, const ProjectPath& path);

 private:
  StateStore& store_;
};

}  // namespace harena
