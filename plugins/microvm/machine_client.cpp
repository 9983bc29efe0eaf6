#include "plugins/microvm/machine_client.hpp"

#include <fcntl.h>

#include "sdk/support/files.hpp"

namespace harena::microvm {

Result<std::string> write_machine_config(const MachineConfig& config) {
  const std::string path = config.vm_dir + "/config.json";
  HARENA_TRY_STATUS(create_file_at(AT_FDCWD, path, config.to_json().dump(), 0600));
  return path;
}

Result<StartedMachine> start_machine(const std::string& program, const MachineConfig& config, int platform, const std::vector<int>& groups,
                                     const CheckCall& check) {
  HARENA_TRY(const std::string path, write_machine_config(config));
  std::vector<int> fds = {platform};
  fds.insert(fds.end(), groups.begin(), groups.end());
  return vmm::start_machine_process(program, path, fds, check);
}

Result<json> ask_machine(const std::string& run_dir, const json& request, std::int64_t patience_ms) {
  return vmm::ask_machine_process(run_dir + "/machine.sock", request, patience_ms);
}

}  // namespace harena::microvm
