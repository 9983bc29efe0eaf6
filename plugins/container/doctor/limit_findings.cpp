#include "plugins/container/doctor/findings.hpp"

namespace harena::container {
namespace {

/// A number of the kernel that ends many sandboxes at once when it is small.
struct Limit {
  const char* id;
  const char* path;    // below /proc/sys
  const char* sysctl;  // its name there
  std::int64_t least;
  const char* why;
};

// Sources: a sandbox has about 5 processes of its own, a shim holds some 20 descriptors, harenad about 10 a sandbox; 4,000 sandboxes.
constexpr Limit kLimits[] = {
    {"pid_max", "kernel/pid_max", "kernel.pid_max", 131'072, "every process of every sandbox has a number of the machine too"},
    {"threads_max", "kernel/threads-max", "kernel.threads-max", 65'536, "threads of all sandboxes together"},
    {"file_max", "fs/file-max", "fs.file-max", 1'000'000, "open files of all sandboxes together: an agent that opens 100,000 starves its neighbours"},
    {"nr_open", "fs/nr_open", "fs.nr_open", 524'288, "descriptors of harenad, about ten a sandbox"},
    {"inotify_instances", "fs/inotify/max_user_instances", "fs.inotify.max_user_instances", 1024, "programs in sandboxes that watch files (editors, build servers) fail"},
    {"inotify_watches", "fs/inotify/max_user_watches", "fs.inotify.max_user_watches", 65'536, "programs in sandboxes that watch files (editors, build servers) fail"},
    {"keys", "kernel/keys/root_maxkeys", "kernel.keys.root_maxkeys", 10'000, "every sandbox has a session keyring of its own, and root pays for it"},
    {"key_bytes", "kernel/keys/root_maxbytes", "kernel.keys.root_maxbytes", 1'000'000, "every sandbox has a session keyring of its own, and root pays for it"},
    {"ptys", "kernel/pty/max", "kernel.pty.max", 4096, "every command with a terminal takes one, in whichever sandbox: shells can't be opened any more"},
    {"mount_max", "fs/mount-max", "fs.mount-max", 20'000, "layers, disks and roots of sandboxes are mounts of the daemon's namespace"},
    {"map_count", "vm/max_map_count", "vm.max_map_count", 65'530, "databases and JIT compilers in sandboxes fail to map memory"},
};

void find_limit(const HostView& host, const Limit& limit, Findings& found) {
  const auto value = host.number(std::string("/proc/sys/") + limit.path);
  if (!value) return;  // this kernel has no such limit
  const std::string what = std::string(limit.sysctl) + " is " + std::to_string(*value);
  if (*value >= limit.least) return found.ok(limit.id, what);
  const std::string line = std::string(limit.sysctl) + "=" + std::to_string(limit.least);
  found.warning(limit.id, what + ", less than " + std::to_string(limit.least), limit.why,
                "sysctl -w " + line + " && echo " + line + " > /etc/sysctl.d/60-harena-" + limit.id + ".conf");
}

/// A sandbox at its memory limit is an everyday thing; with 2 the kernel panics for it, with 1 only when the whole machine is out of memory.
void find_panics(const HostView& host, Findings& found) {
  if (host.number("/proc/sys/vm/panic_on_oom") == 2) {
    return found.error("panic_on_oom", "vm.panic_on_oom is 2", "the first sandbox that reaches its memory limit ends the whole machine", "sysctl -w vm.panic_on_oom=0, and remove it from /etc/sysctl.d");
  }
  found.ok("panic_on_oom", "a sandbox over its memory limit ends alone");
}

}  // namespace

void find_machine_limits(const HostView& host, Findings& found) {
  for (const auto& limit : kLimits) find_limit(host, limit, found);
  if (host.number("/proc/sys/vm/overcommit_memory") == 2) {
    found.warning("overcommit", "vm.overcommit_memory is 2", "memory that sandboxes reserve and don't use counts: creates fail long before the machine is full",
                  "sysctl -w vm.overcommit_memory=0");
  }
  find_panics(host, found);
}

}  // namespace harena::container
