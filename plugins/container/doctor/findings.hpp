#pragma once
// The container backend's part of `harena doctor`: what this host has, what it lacks, why that matters, and the command that mends it.

#include <nlohmann/json.hpp>
#include <string>

#include "plugins/container/blank_pool.hpp"
#include "plugins/container/doctor/host_view.hpp"
#include "plugins/container/settings.hpp"

namespace harena::container {

class Findings {
 public:
  void ok(std::string id, std::string what) { add(std::move(id), "ok", std::move(what), "", ""); }
  /// Containers run, with less than they could have.
  void warning(std::string id, std::string what, std::string why, std::string fix) { add(std::move(id), "warning", std::move(what), std::move(why), std::move(fix)); }
  /// Containers can't be made, or not as they are promised.
  void error(std::string id, std::string what, std::string why, std::string fix) { add(std::move(id), "error", std::move(what), std::move(why), std::move(fix)); }
  const json& list() const { return list_; }

 private:
  void add(std::string id, const char* level, std::string what, std::string why, std::string fix) {
    list_.push_back({{"id", "container." + std::move(id)}, {"level", level}, {"what", std::move(what)}, {"why", std::move(why)}, {"fix", std::move(fix)}});
  }
  json list_ = json::array();
};

/// All of them: {"id", "level": "ok" | "warning" | "error", "what", "why", "fix"}; why and fix are empty when level is "ok".
json container_findings(const HostView& host, const Settings& settings);

// Its parts.
void find_kernel(const HostView& host, const Settings& settings, Findings& found);     // versions, file systems, namespaces, devices
void find_cgroups(const HostView& host, const Settings& settings, Findings& found);    // hierarchies, controllers, swap accounting
void find_machine_limits(const HostView& host, Findings& found);                       // sysctls that end a thousand sandboxes early
void find_hardening(const HostView& host, const Settings& settings, Findings& found);  // AppArmor, Landlock, seccomp, CPUs, dumps
void find_confinement(const HostView& host, const Settings& settings, Findings& found);  // AppArmor: in the kernel, loaded, enforced
void find_process(const HostView& host, const std::string& v2_root, Findings& found);     // what the daemon's unit lets it do
/// Groups of instances that have no process any more.
void find_orphans(const HostView& host, const std::string& v2_root, const Settings& settings, Findings& found);
void find_installation(const HostView& host, const Settings& settings, Findings& found);  // programs, tools, ids, lxcfs, clock
/// Of the daemon that runs, beside container_findings.
void find_pool(const BlankPool::Counts& pool, Findings& found);

}  // namespace harena::container
