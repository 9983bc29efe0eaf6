#include "sdk/vmm/sandbox_state.hpp"

namespace harena::vmm {

using nlohmann::json;

std::string SandboxState::encode() const {
  return json{{"version", kVersion}, {"boot", boot}, {"machine", {machine.pid, machine.start_ticks}}, {"uid", uid}, {"run_dir", run_dir},
              {"state_dir", state_dir}, {"vm_dir", vm_dir}, {"cpu_millicores", cpu_millicores}}.dump();
}

Result<SandboxState> SandboxState::decode(std::string_view text) {
  try {
    const json document = json::parse(text);
    if (document.at("version") != kVersion) {
      return make_error(ErrorCode::failed_precondition, "the state of a sandbox has version " + document["version"].dump() +
                                                            "; this plugin reads version " + std::to_string(kVersion));
    }
    SandboxState state;
    document.at("boot").get_to(state.boot);
    state.machine = {document.at("machine").at(0).get<pid_t>(), document["machine"].at(1).get<std::uint64_t>()};
    document.at("uid").get_to(state.uid);
    document.at("run_dir").get_to(state.run_dir);
    document.at("state_dir").get_to(state.state_dir);
    state.vm_dir = document.value("vm_dir", state.state_dir + "/vm");
    state.cpu_millicores = document.value("cpu_millicores", std::int64_t{0});
    return state;
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("the state of a sandbox can't be read: ") + e.what());
  }
}

}  // namespace harena::vmm
