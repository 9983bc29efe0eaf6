// What this host has, what it lacks and what that costs: the findings of `harena doctor`.
#include <sys/utsname.h>

#include "core/edge/edge_role.hpp"
#include "core/edge/state_findings.hpp"

namespace harena {
namespace {

using nlohmann::json;

json finding(std::string id, const char* level, std::string what, std::string why = "", std::string fix = "") {
  return {{"id", std::move(id)}, {"level", level}, {"what", std::move(what)}, {"why", std::move(why)}, {"fix", std::move(fix)}};
}

json kernel_finding() {
  utsname name{};
  ::uname(&name);
  return finding("kernel", "ok", std::string(name.sysname) + " " + name.release + " " + name.machine);
}

json room_finding(const std::string& state_dir) {
  const HostRoom room = read_host_room(state_dir);
  const AdmissionLimits limits;
  const std::string what = std::to_string(room.memory_available_bytes >> 20) + " MiB of memory and " +
                           std::to_string(room.disk_available_bytes >> 20) + " MiB of disk available in " + state_dir;
  if (room.memory_available_bytes < limits.min_memory_bytes) {
    return finding("room", "error", what, "creates are refused below " + std::to_string(limits.min_memory_bytes >> 20) +
                                              " MiB of memory", "stop sandboxes or give the machine more memory");
  }
  if (room.disk_available_bytes < limits.min_disk_bytes) {
    return finding("room", "error", what, "creates are refused below " + std::to_string(limits.min_disk_bytes >> 20) +
                                              " MiB of disk", "remove images (harena images rm) or enlarge the disk");
  }
  return finding("room", "ok", what);
}

/// A backend's own findings (facts.findings, in this form already) and whether it is usable.
void add_backend(json& findings, const std::string& name, const BackendProbe& probe) {
  if (probe.usable) {
    findings.push_back(finding("backend." + name, "ok", "the backend '" + name + "' is usable"));
  } else {
    std::string why;
    for (const auto& reason : probe.why_not) why += (why.empty() ? "" : "; ") + reason;
    findings.push_back(finding("backend." + name, "error", "the backend '" + name + "' can't be used on this host", why,
                               "mend what it names, or disable the plugin in harena.json"));
  }
  const auto own = probe.facts.find("findings");
  if (own == probe.facts.end() || !own->is_array()) return;
  for (const auto& each : *own) findings.push_back(each);
}

}  // namespace

json EdgeRole::doctor() {
  json findings = json::array();
  findings.push_back(kernel_finding());
  findings.push_back(room_finding(parts_.config.state_dir));
  for (auto& each : state_findings(read_state_disk(parts_.config.state_dir), parts_.config.state_dir)) findings.push_back(std::move(each));
  probe_backends();
  std::lock_guard lock(probes_mutex_);
  for (const auto& [name, probe] : probes_) add_backend(findings, name, probe);
  return findings;
}

}  // namespace harena
