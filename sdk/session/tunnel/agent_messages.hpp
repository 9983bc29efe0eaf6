#pragma once
// What the host asks of the agent of a VM (harena-guest): one request and one answer on a stream of kind `agent`. Framed as everything of
// harena.session/1: the request is a message of the FrameType that belongs to it, the answer is `ok` with the message below or `error`.
// An option that the agent doesn't know is refused by name, as in all requests.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/session/fields.hpp"
#include "sdk/session/frame.hpp"

namespace harena::session {

/// Of the network device with this MAC address ("02:00:0a:01:02:03"); it is moved into the sandbox's network namespace as eth0.
struct GuestNetwork {
  static constexpr bool kIsMessage = true;
  std::string mac;
  /// With prefix length: "10.7.0.2/30". Empty: the device is only brought up.
  std::string address;
  /// Empty: no default route.
  std::string gateway;
  std::vector<std::string> nameservers;
  std::uint32_t mtu = 1500;
  bool operator==(const GuestNetwork&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &GuestNetwork::mac);
    f(2, &GuestNetwork::address);
    f(3, &GuestNetwork::gateway);
    f(4, &GuestNetwork::nameservers);
    f(5, &GuestNetwork::mtu);
  }
};

/// What tells one clone from another, and the time: in configure and renew. What is empty or 0 stays as it is.
struct GuestIdentity {
  static constexpr bool kIsMessage = true;
  std::string hostname;
  /// 32 lower-case hexadecimal digits: /etc/machine-id, and what the kernel gives as boot_id isn't touched.
  std::string machine_id;
  /// The host's wall clock, nanoseconds since 1970, read as late as possible before it is sent.
  std::int64_t wall_ns = 0;
  /// For the kernel's generator, which is reseeded with it: 32 bytes or more.
  std::string entropy;
  std::optional<GuestNetwork> network;
  bool operator==(const GuestIdentity&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &GuestIdentity::hostname);
    f(2, &GuestIdentity::machine_id);
    f(3, &GuestIdentity::wall_ns);
    f(4, &GuestIdentity::entropy);
    f(5, &GuestIdentity::network);
  }
};

/// All that means something in a user namespace, but those that reach the sandbox's own init: SYS_RESOURCE (24) and SYS_NICE (23); and
/// those of the whole machine, which no user namespace gives: SYS_MODULE (16), SYS_RAWIO (17), SYS_PACCT (20), SYS_BOOT (22), SYS_TIME (25),
/// AUDIT_* (29, 30, 37), MAC_* (32, 33), SYSLOG (34), WAKE_ALARM (35), BLOCK_SUSPEND (36), PERFMON (38), BPF (39), CHECKPOINT_RESTORE (40).
inline constexpr std::uint64_t kDefaultCapabilities = 0x9c2c'ffff;

/// Builds the sandbox: mounts, namespaces, shim. Answered when sessions are accepted. Once a boot; the same request again is answered
/// as the first was, another is failed_precondition. Errors name what was wrong: a disk that isn't there is not_found with its serial.
struct ConfigureRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_configure;
  std::string sandbox;
  /// Serials of the virtio-blk devices (at most 20 bytes) with the EROFS layers, the lowest first. At least one.
  std::vector<std::string> layers;
  /// Serial of the writable disk with an ext4 file system; empty: changes are kept in memory, at most memory_disk_bytes.
  std::string disk;
  std::uint64_t memory_disk_bytes = 0;
  GuestIdentity identity;
  /// Of every command and of the sandbox's init.
  std::vector<std::pair<std::string, std::string>> environment;
  /// Processes of the sandbox; 0: no limit but the kernel's.
  std::uint64_t pids_max = 0;
  /// Memory that the platform keeps for itself of what the machine has: the rest is the sandbox's, by its cgroup.
  std::uint64_t reserved_memory_bytes = 24 << 20;
  /// Output of all commands together that is kept.
  std::uint64_t spool_cap_bytes = 1ull << 30;
  /// Capabilities of commands inside the sandbox's user namespace; absent: kDefaultCapabilities.
  std::optional<std::uint64_t> capabilities;
  /// "nofile=1024" and so on, as harena-shim's --rlimit.
  std::vector<std::string> rlimits;
  /// The root file system can't be written.
  bool readonly_root = false;
  /// The trusted tools at /dev/.harena/tools, and `trusted_tools` of start.
  bool tools = true;
  bool operator==(const ConfigureRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ConfigureRequest::sandbox);
    f(2, &ConfigureRequest::layers);
    f(3, &ConfigureRequest::disk);
    f(4, &ConfigureRequest::memory_disk_bytes);
    f(5, &ConfigureRequest::identity);
    f(6, &ConfigureRequest::environment);
    f(7, &ConfigureRequest::pids_max);
    f(8, &ConfigureRequest::reserved_memory_bytes);
    f(9, &ConfigureRequest::spool_cap_bytes);
    f(10, &ConfigureRequest::capabilities);
    f(11, &ConfigureRequest::rlimits);
    f(12, &ConfigureRequest::readonly_root);
    f(13, &ConfigureRequest::tools);
  }
};

struct ConfigureAnswer {
  static constexpr bool kIsMessage = true;
  /// uname -r
  std::string kernel;
  /// The agent's build.
  std::string build;
  /// Kernel start to PID 1, PID 1 to the open channel, configure: microseconds of the guest's clock.
  std::uint64_t kernel_us = 0;
  std::uint64_t agent_us = 0;
  std::uint64_t configure_us = 0;
  bool operator==(const ConfigureAnswer&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &ConfigureAnswer::kernel);
    f(2, &ConfigureAnswer::build);
    f(3, &ConfigureAnswer::kernel_us);
    f(4, &ConfigureAnswer::agent_us);
    f(5, &ConfigureAnswer::configure_us);
  }
};

/// Stops all processes of the sandbox (not the shim and not the agent), and if asked its file systems, after syncing them. Idempotent; a
/// second freeze may ask for more than the first. Until thaw no instruction of the user runs.
struct FreezeRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_freeze;
  /// For a snapshot of the disk alone. One with memory doesn't need it: what isn't written yet is in the memory.
  bool filesystems = false;
  bool operator==(const FreezeRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FreezeRequest::filesystems);
  }
};

/// Undoes all of freeze. Idempotent.
struct ThawRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_thaw;
  bool operator==(const ThawRequest&) const = default;
  template <class F>
  static void fields(F&) {}
};

/// For a machine that goes on somewhere else, before thaw: a clone needs all of it, a resumed one the time alone.
struct RenewRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_renew;
  GuestIdentity identity;
  /// Of the clone; empty: as before.
  std::string sandbox;
  bool operator==(const RenewRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &RenewRequest::identity);
    f(2, &RenewRequest::sandbox);
  }
};

struct RenewAnswer {
  static constexpr bool kIsMessage = true;
  /// Of: clock, entropy, hostname, machine-id, network, mac, neighbours, sandbox. Only what was really done.
  std::vector<std::string> renewed;
  /// How far the wall clock was off before.
  std::int64_t clock_step_ns = 0;
  /// Of a clone: the executables in /etc/harena/clone.d that its processes are to be told by, sorted (clone_hooks.hpp).
  std::vector<std::string> hooks;
  bool operator==(const RenewAnswer&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &RenewAnswer::renewed);
    f(2, &RenewAnswer::clock_step_ns);
    f(3, &RenewAnswer::hooks);
  }
};

struct MetricsRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_metrics;
  bool operator==(const MetricsRequest&) const = default;
  template <class F>
  static void fields(F&) {}
};

/// Of the sandbox inside the guest; what the platform uses there itself isn't in it.
struct MetricsAnswer {
  static constexpr bool kIsMessage = true;
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t cpu_usec = 0;
  std::uint64_t pids = 0;
  std::uint64_t disk_bytes = 0;
  std::uint64_t disk_limit_bytes = 0;
  std::uint64_t oom_kills = 0;
  bool frozen = false;
  bool operator==(const MetricsAnswer&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &MetricsAnswer::memory_bytes);
    f(2, &MetricsAnswer::memory_limit_bytes);
    f(3, &MetricsAnswer::cpu_usec);
    f(4, &MetricsAnswer::pids);
    f(5, &MetricsAnswer::disk_bytes);
    f(6, &MetricsAnswer::disk_limit_bytes);
    f(7, &MetricsAnswer::oom_kills);
    f(8, &MetricsAnswer::frozen);
  }
};

/// Answered when the sandbox has ended: its init has died, whoever did that. The machine powers itself off soon after. Any number at once.
struct WaitRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_wait;
  bool operator==(const WaitRequest&) const = default;
  template <class F>
  static void fields(F&) {}
};

struct WaitAnswer {
  static constexpr bool kIsMessage = true;
  /// harena-shim's exit.json (shim/README.md): exit, signal, oom, stop; "shim" when the shim itself died.
  std::string cause;
  std::int32_t exit_code = 0;
  std::int32_t signal = 0;
  std::uint64_t oom_kills = 0;
  bool operator==(const WaitAnswer&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &WaitAnswer::cause);
    f(2, &WaitAnswer::exit_code);
    f(3, &WaitAnswer::signal);
    f(4, &WaitAnswer::oom_kills);
  }
};

/// SIGTERM to commands and init, SIGKILL after the grace; then the disk is unmounted and the machine powers itself off. Answered before it
/// does. Idempotent.
struct PowerOffRequest {
  static constexpr bool kIsMessage = true;
  static constexpr FrameType kType = FrameType::agent_power_off;
  std::uint32_t grace_ms = 0;
  bool operator==(const PowerOffRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &PowerOffRequest::grace_ms);
  }
};

}  // namespace harena::session
