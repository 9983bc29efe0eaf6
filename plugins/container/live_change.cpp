#include "plugins/container/live_change.hpp"

#include <algorithm>
#include <set>

#include "plugins/container/sandbox_plan.hpp"

namespace harena::container {
namespace {

constexpr const char* kChangeable[] = {"cpu",  "cpu_weight", "cpu_idle",  "cpuset",      "memory",       "memory_bytes", "memory_high", "swap",
                                       "pids", "disk",       "disk_bytes", "io_weight", "io_read_bps", "io_write_bps", "io_read_iops", "io_write_iops"};

bool changeable(const std::string& name) {
  return std::any_of(std::begin(kChangeable), std::end(kChangeable), [&](const char* one) { return name == one; });
}

std::string shown(const json& params, const std::string& name) {
  if (!params.contains(name)) return "not set";
  return params[name].dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 80);
}

Status check_disk(const Parameters& before, const Parameters& after) {
  if ((before.disk_bytes == 0) == (after.disk_bytes == 0)) return {};
  const bool had = before.disk_bytes != 0;
  return make_error(ErrorCode::invalid_argument,
                    "parameter 'disk' is " + std::to_string(after.disk_bytes) + ": this sandbox was made with" + (had ? "" : "out") +
                        " a disk of its own, and can't " + (had ? "lose it" : "get one") + " while it lives");
}

}  // namespace

Status check_live_change(const json& before, const json& after) {
  std::set<std::string> names;
  for (const auto* params : {&before, &after}) {
    for (const auto& [name, value] : params->items()) names.insert(name);
  }
  for (const auto& name : names) {
    const bool same = before.contains(name) == after.contains(name) && (!before.contains(name) || before[name] == after[name]);
    if (same || changeable(name)) continue;
    std::string all;
    for (const char* one : kChangeable) all += (all.empty() ? "" : ", ") + std::string(one);
    return make_error(ErrorCode::invalid_argument, "parameter '" + name + "' is " + shown(before, name) +
                                                       " and can't change while the sandbox lives; what can: " + all);
  }
  HARENA_TRY(const auto from, parse_parameters(before));
  HARENA_TRY(const auto to, parse_parameters(after));
  return check_disk(from, to);
}

json missing_after(const json& details, const Parameters& after, const std::vector<std::string>& now_missing) {
  const CgroupLimits limits = limits_of(after);
  std::set<std::string> missing(now_missing.begin(), now_missing.end());
  for (const auto& one : details.value("missing_limits", std::vector<std::string>{})) {
    if (one == "disk" || wants_limit(limits, one)) missing.insert(one);
  }
  return missing;
}

}  // namespace harena::container
