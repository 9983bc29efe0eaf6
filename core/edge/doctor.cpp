// What this host has, what it lacks and what that costs: the findings of `harena doctor`.
#include "core/edge/edge_role.hpp"
#include "core/edge/host_findings.hpp"
#include "core/edge/state_findings.hpp"

namespace harena {

nlohmann::json EdgeRole::doctor() {
  const std::string& state_dir = parts_.config.state_dir;
  nlohmann::json findings = nlohmann::json::array();
  findings.push_back(kernel_finding());
  findings.push_back(room_finding(state_dir, state_dir));
  for (auto& each : state_findings(read_state_disk(state_dir), state_dir)) findings.push_back(std::move(each));
  probe_backends();
  std::lock_guard lock(probes_mutex_);
  for (const auto& [name, probe] : probes_) add_backend_findings(findings, name, probe);
  return findings;
}

}  // namespace harena
