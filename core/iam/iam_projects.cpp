// The part of IamService that deals with projects.

#include "core/iam/iam_service.hpp"
#include "core/iam/listing.hpp"

namespace harena {

nlohmann::json to_public_json(const ProjectRecord& record) {
  auto value = to_json(record);
  value.erase("schema");
  return value;
}

namespace {

Status check_limits(const QuotaLimits& limits) {
  const auto check = [](const std::optional<std::int64_t>& limit, const char* name) -> Status {
    if (!limit || *limit >= 0) return ok_status();
    return make_error(ErrorCode::invalid_argument, std::string("limits.") + name + " is " + std::to_string(*limit) +
                                                       "; it must be null (unlimited) or not negative");
  };
  HARENA_TRY_STATUS(check(limits.sandboxes, "sandboxes"));
  HARENA_TRY_STATUS(check(limits.cpu_milli, "cpu_milli"));
  return check(limits.memory_bytes, "memory_bytes");
}

Error no_such_project(const ProjectPath& path) {
  return make_error(ErrorCode::not_found, "there is no project '" + path.str() + "'");
}

}  // namespace

Result<ProjectRecord> IamService::create_project(const CallContext& call, const Principal& principal,
                                                 const ProjectPath& path, const QuotaLimits& limits) {
  std::lock_guard lock(write_mutex_);
  HARENA_TRY_STATUS(authorize(principal, Permission::project_write, path.parent()));
  HARENA_TRY_STATUS(check_limits(limits));
  const ProjectRecord record{path, clock_.wall_ms(), principal.id, limits};
  HARENA_TRY_STATUS(projects_.create(call, record));
  quotas_.set_limits(path, limits);
  publish([&](Directory& directory) { directory.put(record); });
  return record;
}

Result<ProjectRecord> IamService::set_limits(const CallContext& call, const Principal& principal,
                                             const ProjectPath& path, const QuotaLimits& limits) {
  std::lock_guard lock(write_mutex_);
  HARENA_TRY_STATUS(authorize(principal, Permission::project_write, path.parent()));
  HARENA_TRY_STATUS(check_limits(limits));
  HARENA_TRY(const auto record, projects_.set_limits(call, path, limits));
  quotas_.set_limits(path, limits);
  publish([&](Directory& directory) { directory.put(record); });
  return record;
}

Result<ProjectRecord> IamService::find_project(const Principal& principal, const ProjectPath& path) const {
  const auto directory = picture();
  HARENA_TRY_STATUS(authorize_in(*directory, principal, Permission::project_read, path));
  return *directory->find_project(path);
}

Result<std::vector<ProjectRecord>> IamService::list_projects(const Principal& principal, const ProjectPath& project,
                                                             const std::string& cursor, std::int64_t limit) const {
  HARENA_TRY_STATUS(check_list_limit(limit));
  const auto directory = picture();
  HARENA_TRY_STATUS(authorize_in(*directory, principal, Permission::project_read, project));
  std::vector<ProjectRecord> found;
  const auto& all = directory->projects();
  auto it = all.begin();
  if (!cursor.empty()) {
    HARENA_TRY(const auto after, ProjectPath::parse(cursor));
    it = all.upper_bound(after);
  }
  for (; it != all.end() && std::ssize(found) < limit; ++it) {
    if (project.contains(it->first)) found.push_back(it->second);
  }
  return found;
}

Status IamService::remove_project(const CallContext& call, const Principal& principal, const ProjectPath& path) {
  std::lock_guard lock(write_mutex_);
  HARENA_TRY_STATUS(authorize(principal, Permission::project_write, path.parent()));
  if (!picture()->find_project(path)) return no_such_project(path);
  HARENA_TRY_STATUS(check_removable(path));
  HARENA_TRY_STATUS(remove_tokens_of(call, path));
  HARENA_TRY_STATUS(projects_.remove(call, path));
  quotas_.set_limits(path, {});
  publish([&](Directory& directory) { directory.remove_project(path); });
  return ok_status();
}

/// Before anything is removed: a refusal must leave the tokens.
Status IamService::check_removable(const ProjectPath& path) const {
  if (path.is_root()) return make_error(ErrorCode::invalid_argument, "the project 'root' can't be removed");
  const auto directory = picture();
  const auto below = directory->projects().upper_bound(path);
  for (auto it = below; it != directory->projects().end(); ++it) {
    if (!path.contains(it->first)) continue;
    return make_error(ErrorCode::failed_precondition, "the project '" + path.str() + "' has the project '" +
                                                          it->first.str() + "' below it; remove that first");
  }
  // The ledger knows of creates that are under way, too.
  if (quotas_.used(path).sandboxes > 0 || (has_sandboxes_ && has_sandboxes_(path))) {
    return make_error(ErrorCode::failed_precondition,
                      "the project '" + path.str() + "' has living sandboxes; stop them first");
  }
  return ok_status();
}

}  // namespace harena
