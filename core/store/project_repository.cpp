#include "core/store/project_repository.hpp"

#include "core/store/keys.hpp"
#include "core/store/pages.hpp"

namespace harena {

using nlohmann::json;

namespace {

json limit_json(const std::optional<std::int64_t>& limit) { return limit ? json(*limit) : json(nullptr); }

std::optional<std::int64_t> limit_from(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<std::int64_t>());
}

Result<ProjectRecord> project_from(const json& value) {
  HARENA_TRY(auto path, ProjectPath::parse(value.at("path").get<std::string>()));
  ProjectRecord record{.path = std::move(path)};
  record.created_ms = value.at("created_ms").get<std::int64_t>();
  record.created_by = value.at("created_by").get<std::string>();
  const auto& limits = value.at("limits");
  record.limits = {limit_from(limits.at("sandboxes")), limit_from(limits.at("cpu_milli")),
                   limit_from(limits.at("memory_bytes"))};
  return record;
}

Error no_such_project(const ProjectPath& path) {
  return make_error(ErrorCode::not_found, "there is no project '" + path.str() + "'");
}

Result<ProjectRecord> record_of(const StateEntry& entry) {
  HARENA_TRY(const auto value, parse_record(entry));
  auto record = project_from_json(value);
  if (!record) return std::move(record).error().during("reading the record '" + entry.key + "'");
  return record;
}

StateOp put_record(const ProjectRecord& record) {
  return StateOp::put(keys::project(record.path), record_text(to_json(record)));
}

}  // namespace

json to_json(const ProjectRecord& record) {
  return {{"schema", 1},
          {"path", record.path.str()},
          {"created_ms", record.created_ms},
          {"created_by", record.created_by},
          {"limits",
           {{"sandboxes", limit_json(record.limits.sandboxes)},
            {"cpu_milli", limit_json(record.limits.cpu_milli)},
            {"memory_bytes", limit_json(record.limits.memory_bytes)}}}};
}

Result<ProjectRecord> project_from_json(const json& value) {
  try {
    return project_from(value);
  } catch (const json::exception& problem) {
    return make_error(ErrorCode::data_loss, std::string("a stored project can't be read: ") + problem.what());
  }
}

Status ProjectRepository::create(const CallContext& call, const ProjectRecord& record) {
  const std::string key = keys::project(record.path);
  HARENA_TRY(const auto present, store_.get(call, key));
  if (present) return make_error(ErrorCode::already_exists, "the project '" + record.path.str() + "' exists");
  std::vector<StateOp> ops{StateOp::check(key, 0), put_record(record)};
  if (!record.path.is_root()) {
    const auto parent = record.path.parent();
    HARENA_TRY(auto entry, store_.get(call, keys::project(parent)));
    if (!entry) return no_such_project(parent);
    ops.push_back(StateOp::check(entry->key, entry->revision));
    ops.push_back(StateOp::put(entry->key, entry->value));  // a new revision: a removal in flight fails its check
  }
  HARENA_TRY([[maybe_unused]] const auto revision, store_.txn(call, ops));
  return ok_status();
}

Result<ProjectRecord> ProjectRepository::set_limits(const CallContext& call, const ProjectPath& path,
                                                    const QuotaLimits& limits) {
  HARENA_TRY(const auto entry, store_.get(call, keys::project(path)));
  if (!entry) return no_such_project(path);
  HARENA_TRY(auto record, record_of(*entry));
  record.limits = limits;
  HARENA_TRY([[maybe_unused]] const auto revision,
             store_.txn(call, {StateOp::check(entry->key, entry->revision), put_record(record)}));
  return record;
}

Result<ProjectRecord> ProjectRepository::get(const CallContext& call, const ProjectPath& path) {
  HARENA_TRY(const auto entry, store_.get(call, keys::project(path)));
  if (!entry) return no_such_project(path);
  return record_of(*entry);
}

Result<std::vector<ProjectRecord>> ProjectRepository::load_all(const CallContext& call) {
  std::vector<ProjectRecord> records;
  HARENA_TRY_STATUS(for_each_entry(store_, call, keys::kProjects, "", [&](const StateEntry& entry) -> Result<bool> {
    HARENA_TRY(auto record, record_of(entry));
    records.push_back(std::move(record));
    return true;
  }));
  return records;
}

Status ProjectRepository::remove(const CallContext& call, const ProjectPath& path) {
  if (path.is_root()) return make_error(ErrorCode::invalid_argument, "the project 'root' can't be removed");
  HARENA_TRY(const auto entry, store_.get(call, keys::project(path)));
  if (!entry) return ok_status();
  const std::string below = entry->key + "/";
  HARENA_TRY(const auto children, store_.range(call, below, keys::after_prefix(below), 1));
  if (!children.empty()) {
    return make_error(ErrorCode::failed_precondition,
                      "the project '" + path.str() + "' has the project '" +
                          children[0].key.substr(keys::kProjects.size()) + "' below it; remove that first");
  }
  HARENA_TRY([[maybe_unused]] const auto revision,
             store_.txn(call, {StateOp::check(entry->key, entry->revision), StateOp::remove(entry->key)}));
  return ok_status();
}

}  // namespace harena
