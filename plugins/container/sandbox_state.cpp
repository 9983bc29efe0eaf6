#include "plugins/container/sandbox_state.hpp"

namespace harena::container {
namespace {

using json = nlohmann::json;

json encode_process(const ProcessRef& process) { return {process.pid, process.start_ticks}; }
ProcessRef decode_process(const json& value) { return {value.at(0).get<pid_t>(), value.at(1).get<std::uint64_t>()}; }

}  // namespace

std::string SandboxState::encode() const {
  return json{{"version", kVersion},        {"boot", boot},         {"shim", encode_process(shim)}, {"init", encode_process(init)},
              {"first_id", first_id},       {"run_dir", run_dir},   {"state_dir", state_dir},       {"endpoint", endpoint},
              {"layers", layers},           {"layer_paths", layer_paths},
              {"readonly_rootfs", readonly_rootfs}, {"disk_bytes", disk_bytes}, {"inodes", inodes}}
      .dump();
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
    state.shim = decode_process(document.at("shim"));
    state.init = decode_process(document.at("init"));
    document.at("first_id").get_to(state.first_id);
    document.at("run_dir").get_to(state.run_dir);
    document.at("state_dir").get_to(state.state_dir);
    document.at("endpoint").get_to(state.endpoint);
    document.at("layers").get_to(state.layers);
    state.layer_paths = document.value("layer_paths", state.layer_paths);
    state.readonly_rootfs = document.value("readonly_rootfs", false);
    state.disk_bytes = document.value("disk_bytes", std::int64_t{0});
    state.inodes = document.value("inodes", std::int64_t{0});
    return state;
  } catch (const json::exception& e) {
    return make_error(ErrorCode::data_loss, std::string("the state of a sandbox can't be read: ") + e.what());
  }
}

}  // namespace harena::container
