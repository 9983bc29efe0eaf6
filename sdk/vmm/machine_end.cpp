#include "sdk/vmm/machine_end.hpp"

#include <fcntl.h>
#include <sys/wait.h>

#include <csignal>
#include <nlohmann/json.hpp>

#include "sdk/support/files.hpp"

namespace harena::vmm {

Status end_machine_process(const CgroupTree& cgroups, const std::string& id, const ProcessRef& known, std::int64_t deadline_ns) {
  if (auto process = open_process(known); process.ok()) {
    HARENA_TRY_STATUS(signal_process(process->get(), SIGKILL));
    wait_process_end(process->get(), deadline_ns);
    ::waitpid(known.pid, nullptr, WNOHANG);  // ours, if this daemon started it
  }
  return cgroups.remove_platform(id, deadline_ns);
}

Ending read_ending(const std::string& vm_dir, const std::string& otherwise) {
  auto text = read_file_at(AT_FDCWD, vm_dir + "/exit.json");
  const auto document = text.ok() ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  if (!document.is_object()) return {Cause::infrastructure, otherwise};
  if (document.value("cause_detail", "") == "guest") return {Cause::agent, document.value("detail", "")};
  return {Cause::infrastructure, document.value("detail", otherwise)};
}

}  // namespace harena::vmm
