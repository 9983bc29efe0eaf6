#include "guest/entry.hpp"

#include "guest/agent.hpp"
#include "guest/channel_port.hpp"
#include "guest/early_boot.hpp"
#include "guest/kernel_modules.hpp"

namespace harena::guest {

Status run_guest() {
  HARENA_TRY_STATUS(mount_own_filesystems());
  HARENA_TRY_STATUS(make_root_pivotable());
  protect_self();
  HARENA_TRY(UniqueFd devices, open_device_events());
  HARENA_TRY_STATUS(load_modules("/modules.list"));
  HARENA_TRY(UniqueFd channel, open_channel_port(devices.get()));
  devices.reset();
  HARENA_TRY(auto agent, Agent::create(std::move(channel)));
  agent->run();
  return {};
}

}  // namespace harena::guest
