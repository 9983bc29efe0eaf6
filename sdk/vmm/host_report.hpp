#pragma once
// HostReport: what a backend of machines finds on its host, once for all who ask: why it can't be used
// (probe), what `harena doctor` says (facts.findings: id, level, what, why, and the command that mends it),
// what placement and operators see (facts, facts.labels).

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/vmm/accelerator.hpp"
#include "sdk/vmm/program_version.hpp"

namespace harena::vmm {

class HostReport {
 public:
  /// `backend` is in front of the ids: "microvm.kernel".
  explicit HostReport(std::string backend) : backend_(std::move(backend)) {}

  void ok(const std::string& id, const std::string& what) { add(id, "ok", what, "", ""); }
  /// Machines run, with less than they could have.
  void warning(const std::string& id, const std::string& what, const std::string& why, const std::string& fix);
  /// No machine can be made.
  void error(const std::string& id, const std::string& what, const std::string& why, const std::string& fix);
  void fact(const std::string& name, nlohmann::json value) { facts_[name] = std::move(value); }
  /// A fact that the node table shows too, as BACKEND.NAME: "microvm.accelerator" is "kvm".
  void label(const std::string& name, const std::string& value);

  /// {"usable", "why_not", "facts"}, as probe answers.
  nlohmann::json probe() const;

 private:
  void add(const std::string& id, const char* level, const std::string& what, const std::string& why, const std::string& fix);

  const std::string backend_;
  nlohmann::json findings_ = nlohmann::json::array(), why_not_ = nlohmann::json::array(), warnings_ = nlohmann::json::array();
  nlohmann::json facts_ = nlohmann::json::object(), labels_ = nlohmann::json::object();
};

// What all of them look at.

/// Whether this process is root.
void report_root(HostReport& report);
/// A file that must be there: `mode` as of access(2), `fix` what brings it. True when it is.
bool report_file(HostReport& report, const std::string& id, const std::string& path, int mode, const std::string& fix);
/// `machines`: "microVMs". Emulation is a warning; what can't be had as configured is an error, here too.
Result<AcceleratorChoice> report_accelerator(HostReport& report, const std::string& wanted, const std::string& machines);
/// The limits that a machine must have: cpu, memory, pids.
void report_limits(HostReport& report, const std::set<std::string>& allow_missing);
/// Its version, as fact and label `vmm`: "qemu 7.2.22". An error when it says none, a warning when it is too slow to. [blocking] it may be
/// started for that.
void report_vmm(HostReport& report, const std::string& name, const std::string& path, VersionCache& versions);

}  // namespace harena::vmm
