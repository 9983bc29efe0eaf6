#include "sdk/support/capabilities.hpp"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <vector>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

// In the order of linux/capability.h, 0 to 40.
constexpr std::array<std::string_view, 41> kNames = {
    "chown", "dac_override", "dac_read_search", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
    "linux_immutable", "net_bind_service", "net_broadcast", "net_admin", "net_raw", "ipc_lock", "ipc_owner",
    "sys_module", "sys_rawio", "sys_chroot", "sys_ptrace", "sys_pacct", "sys_admin", "sys_boot", "sys_nice",
    "sys_resource", "sys_time", "sys_tty_config", "mknod", "lease", "audit_write", "audit_control", "setfcap",
    "mac_override", "mac_admin", "syslog", "wake_alarm", "block_suspend", "audit_read", "perfmon", "bpf",
    "checkpoint_restore"};

}  // namespace

Result<CapabilityMask> capability_bit(std::string_view name) {
  std::string plain = ascii_lower(name);
  if (plain.starts_with("cap_")) plain.erase(0, 4);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == plain) return CapabilityMask{1} << i;
  }
  const std::vector<std::string> known(kNames.begin(), kNames.end());
  return make_error(ErrorCode::invalid_argument, "no capability '" + std::string(name) + "'" + suggestion(plain, known));
}

Status raise_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0) return errno_error(errno, "capget");
  for (auto& half : data) half.effective = half.permitted;
  if (::syscall(SYS_capset, &header, data) != 0) return errno_error(errno, "capset");
  return {};
}

Status limit_capabilities(CapabilityMask mask) {
  ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  // Up to what this kernel knows: the first unknown number is EINVAL.
  for (unsigned long bit = 0; bit < 64 && ::prctl(PR_CAPBSET_READ, bit, 0, 0, 0) >= 0; ++bit) {
    if ((mask >> bit & 1) != 0) continue;
    if (::prctl(PR_CAPBSET_DROP, bit, 0, 0, 0) != 0) return errno_error(errno, "drop a capability from the bounding set");
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const auto low = static_cast<std::uint32_t>(mask);
  const auto high = static_cast<std::uint32_t>(mask >> 32);
  __user_cap_data_struct data[2] = {{low, low, 0}, {high, high, 0}};
  if (::syscall(SYS_capset, &header, data) != 0) return errno_error(errno, "capset");
  return {};
}

}  // namespace harena
