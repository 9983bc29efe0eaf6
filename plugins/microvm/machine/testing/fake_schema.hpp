#pragma once
// Firecracker's published API as far as it is driven (firecracker.yaml, 1.8 and newer): which requests there are, what their bodies may and must
// have. The real one refuses unknown fields too.

#include <nlohmann/json.hpp>
#include <string>

namespace harena::microvm::testing {

using nlohmann::json;

struct Field {
  const char* name;
  const char* type;  // "string", "integer", "boolean", "object", or "a|b": one of these words
  bool required;
};
enum class When { always, before_boot, after_boot };
struct Route {
  const char* method;
  const char* path;  // "/drives/*": one more part
  When when;
  std::vector<Field> fields;
};

inline const std::vector<Route>& routes() {
  static const std::vector<Route> kRoutes = {
      {"GET", "/", When::always, {}},
      {"GET", "/version", When::always, {}},
      {"PUT", "/machine-config", When::before_boot,
       {{"vcpu_count", "integer", true}, {"mem_size_mib", "integer", true}, {"smt", "boolean", false}, {"track_dirty_pages", "boolean", false},
        {"huge_pages", "None|2M", false}}},
      {"PUT", "/boot-source", When::before_boot,
       {{"kernel_image_path", "string", true}, {"initrd_path", "string", false}, {"boot_args", "string", false}}},
      {"PUT", "/drives/*", When::before_boot,
       {{"drive_id", "string", true}, {"is_root_device", "boolean", true}, {"path_on_host", "string", false}, {"is_read_only", "boolean", false},
        {"cache_type", "Unsafe|Writeback", false}, {"io_engine", "Sync|Async", false}, {"rate_limiter", "object", false},
        {"partuuid", "string", false}, {"socket", "string", false}}},
      {"PUT", "/vsock", When::before_boot, {{"guest_cid", "integer", true}, {"uds_path", "string", true}, {"vsock_id", "string", false}}},
      {"PUT", "/entropy", When::before_boot, {{"rate_limiter", "object", false}}},
      {"PUT", "/actions", When::always, {{"action_type", "InstanceStart|SendCtrlAltDel|FlushMetrics", true}}},
      {"PATCH", "/drives/*", When::after_boot, {{"drive_id", "string", true}, {"path_on_host", "string", false}, {"rate_limiter", "object", false}}},
      {"PATCH", "/vm", When::after_boot, {{"state", "Paused|Resumed", true}}},
      {"PUT", "/snapshot/create", When::after_boot,
       {{"snapshot_path", "string", true}, {"mem_file_path", "string", true}, {"snapshot_type", "Full|Diff", false}}},
      {"PUT", "/snapshot/load", When::before_boot,
       {{"snapshot_path", "string", true}, {"mem_backend", "object", false}, {"mem_file_path", "string", false},
        {"enable_diff_snapshots", "boolean", false}, {"resume_vm", "boolean", false}}},
  };
  return kRoutes;
}

inline bool fits_type(const json& value, const std::string& type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return value.is_number_integer();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  return value.is_string() && ("|" + type + "|").find("|" + value.get<std::string>() + "|") != std::string::npos;
}

/// Why the body doesn't fit; empty: it does.
inline std::string misfit(const json& body, const std::vector<Field>& fields) {
  for (const auto& [key, value] : body.items()) {
    const Field* known = nullptr;
    for (const auto& field : fields) known = key == field.name ? &field : known;
    if (known == nullptr) return "unknown field `" + key + "`";
    if (!fits_type(value, known->type)) return "invalid value of `" + key + "`: " + value.dump() + ", expected " + known->type;
  }
  for (const auto& field : fields) {
    if (field.required && !body.contains(field.name)) return "missing field `" + std::string(field.name) + "`";
  }
  return {};
}

inline std::string bucket_misfit(const json& bucket) {
  return misfit(bucket, {{"size", "integer", true}, {"refill_time", "integer", true}, {"one_time_burst", "integer", false}});
}

/// `changes`: of a PATCH, where a bucket of size 0 takes a limit away.
inline std::string limiter_misfit(const json& limiter, bool changes) {
  if (auto why = misfit(limiter, {{"bandwidth", "object", false}, {"ops", "object", false}}); !why.empty()) return why;
  for (const auto& [key, bucket] : limiter.items()) {
    if (auto why = bucket_misfit(bucket); !why.empty()) return key + ": " + why;
    if (!changes && (bucket["size"] <= 0 || bucket["refill_time"] <= 0)) return key + ": a bucket that never fills";
  }
  return {};
}

}  // namespace harena::microvm::testing
