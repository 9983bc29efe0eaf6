#include "guest/entry.hpp"

#include <time.h>

#include "guest/agent.hpp"
#include "guest/channel_port.hpp"
#include "guest/early_boot.hpp"
#include "guest/kernel_modules.hpp"

namespace harena::guest {

namespace {

std::uint64_t since_boot_us() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000 + static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

Status run_guest() {
  const auto begin = since_boot_us();
  HARENA_TRY_STATUS(mount_own_filesystems());
  HARENA_TRY_STATUS(make_root_pivotable());
  protect_self();
  HARENA_TRY(UniqueFd devices, open_device_events());
  HARENA_TRY_STATUS(load_modules("/modules.list"));
  HARENA_TRY(const auto port, own_vsock_port());
  if (port) HARENA_TRY_STATUS(load_modules("/modules-vsock.list"));
  HARENA_TRY(Channel channel, open_channel(port, devices.get()));
  devices.reset();
  HARENA_TRY(auto agent, Agent::create(std::move(channel), {begin, since_boot_us() - begin}));
  agent->run();
  return {};
}

}  // namespace harena::guest
