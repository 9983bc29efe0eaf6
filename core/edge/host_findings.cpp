#include "core/edge/host_findings.hpp"

#include <sys/utsname.h>

#include "core/lifecycle/admission.hpp"

namespace harena {

using nlohmann::json;

json make_finding(std::string id, const char* level, std::string what, std::string why, std::string fix) {
  return {{"id", std::move(id)}, {"level", level}, {"what", std::move(what)}, {"why", std::move(why)}, {"fix", std::move(fix)}};
}

json kernel_finding() {
  utsname name{};
  ::uname(&name);
  return make_finding("kernel", "ok", std::string(name.sysname) + " " + name.release + " " + name.machine);
}

json room_finding(const std::string& shown, const std::string& looked_at) {
  const HostRoom room = read_host_room(looked_at);
  const AdmissionLimits limits;
  const std::string what = std::to_string(room.memory_available_bytes >> 20) + " MiB of memory and " +
                           std::to_string(room.disk_available_bytes >> 20) + " MiB of disk available in " + shown;
  if (room.memory_available_bytes < limits.min_memory_bytes) {
    return make_finding("room", "error", what, "creates are refused below " + std::to_string(limits.min_memory_bytes >> 20) +
                                              " MiB of memory", "stop sandboxes or give the machine more memory");
  }
  if (room.disk_available_bytes < limits.min_disk_bytes) {
    return make_finding("room", "error", what, "creates are refused below " + std::to_string(limits.min_disk_bytes >> 20) +
                                              " MiB of disk", "remove images (harena images rm) or enlarge the disk");
  }
  return make_finding("room", "ok", what);
}

void add_backend_findings(json& findings, const std::string& name, const BackendProbe& probe) {
  if (probe.usable) {
    findings.push_back(make_finding("backend." + name, "ok", "the backend '" + name + "' is usable"));
  } else {
    std::string why;
    for (const auto& reason : probe.why_not) why += (why.empty() ? "" : "; ") + reason;
    findings.push_back(make_finding("backend." + name, "error", "the backend '" + name + "' can't be used on this host", why,
                               "mend what it names, or disable the plugin in harena.json"));
  }
  const auto own = probe.facts.find("findings");
  if (own == probe.facts.end() || !own->is_array()) return;
  for (const auto& each : *own) findings.push_back(each);
}

}  // namespace harena
