#pragma once
// Vmm: one virtual machine monitor process, whichever program it is. What the machine (machine.hpp) does with it is the same for all of
// them: boot or wait for a state, stand still, save, go on somewhere else.
//
// The order of a life: launch(spec) -> [incoming: load_state] -> run(); then stop() / run() any number of times; end(). After a failure of
// any call but launch the VMM is still there, standing still or running as before, unless it has ended (ended()).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/vmm/accelerator.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

/// A file of a disk. The first of a chain is raw, further ones are qcow2 overlays on it.
struct DiskFile {
  std::string path;
  bool overlay = false;
};
/// A disk: files from the lowest parent to the one on top. Only the top of a writable disk is ever written.
struct DiskSpec {
  std::string serial;  // at most 20 bytes (virtio-blk)
  std::vector<DiskFile> files;
  bool writable = false;
};

/// What a kind of VMM does with memory and disks. The machine asks this, never which program it is.
struct VmmTraits {
  /// RAM is a file that the VMM maps (VmmSpec::ram_path); what was written over a frozen one is found in its process (ram_delta.hpp). Without it
  /// RAM is the VMM's own: `save` writes it, as a whole or what changed since the last `save`, and an incoming VMM reads a complete file.
  bool maps_ram_file = true;
  /// A disk may be a chain of overlays. Without it each is one raw file, which is copied while the machine stands still.
  bool disk_chains = true;
};

/// What `save` writes beside the state. `none` is right where RAM is a mapped file.
enum class MemoryKind { none, whole, changes };
struct SavePaths {
  std::string state;
  MemoryKind kind = MemoryKind::none;
  /// `whole`: a RAM file. `changes`: a file as long as the RAM whose holes are what didn't change.
  std::string memory;
};

/// How the RAM file is mapped: `shared` makes the file the RAM; `own_copy` leaves it as it is (it must never change again).
enum class RamMapping { shared, own_copy };
using vmm::Accelerator;

/// Of each disk, a second; 0: no limit. `bps` and `iops` count reads and writes together.
struct DiskLimits {
  std::int64_t bps = 0, iops = 0;
  std::int64_t read_bps = 0, write_bps = 0, read_iops = 0, write_iops = 0;
  bool any() const { return bps + iops + read_bps + write_bps + read_iops + write_iops > 0; }
};

struct VmmSpec {
  std::string program;
  std::string jailer;        // Firecracker's; empty: the driver makes the jail itself
  std::string firmware_dir;  // where the VMM's data files are; empty: its own default
  std::string jail_dir;      // an empty folder: the VMM's root is mounted over it, in its own mount namespace
  std::string work_dir;      // the machine's own files, on the file system where they are: what a driver makes beside them goes with them
  std::string log_path;      // what it says
  std::string kernel, initramfs, command_line;
  Accelerator accelerator = Accelerator::tcg;
  std::string cpu_model = "max";
  int cpus = 1;
  std::string ram_path;
  std::int64_t ram_bytes = 0;
  RamMapping ram = RamMapping::shared;
  std::vector<DiskSpec> disks;
  DiskLimits disk_limits;
  /// Waits for load_state instead of booting.
  bool incoming = false;
  std::uint32_t uid = 0;
  /// Files that a process writes "0" into to join its cgroups; borrowed.
  std::vector<int> group_files;
};

class Vmm {
 public:
  /// The process is killed and waited for, if it lives.
  virtual ~Vmm() = default;

  virtual pid_t pid() const = 0;
  /// Readable once the process has ended. Borrowed.
  virtual int pidfd() const = 0;
  /// How it ended, for people: "signal 9", "exit 1: last line of its log"; empty while it lives.
  virtual std::string ended() = 0;
  /// `handler` gets the channel to the guest's agent: at once where the VMM has a port for it, else when the guest accepts a connection, and
  /// again with each new one that the same guest has accepted. Once.
  virtual void on_channel(std::function<void(UniqueFd)> handler) = 0;
  /// What the guest writes to its serial console: given away once. Whoever has it reads it.
  virtual UniqueFd take_console() = 0;
  /// Which program this is: "qemu 7.2.22".
  virtual std::string version() const = 0;
  /// The serial number under which the guest finds the disk.
  virtual std::string guest_serial(const std::string& serial) const = 0;

  /// No instruction of the guest runs after it, and all that its disks were told is in their files. Idempotent.
  virtual Status stop(std::int64_t deadline_ns) = 0;
  /// The guest goes on. Idempotent.
  virtual Status run(std::int64_t deadline_ns) = 0;
  /// Of a stopped machine: everything but the disks, into files that are made. On failure none of them is left, and what changed until now
  /// may not be part of the next `changes`: then only `whole` is right.
  virtual Status save(const SavePaths& to, std::int64_t deadline_ns) = 0;
  /// Of one that was launched `incoming`; RAM is complete already. It stands still afterwards.
  virtual Status load_state(const std::string& path, std::int64_t deadline_ns) = 0;
  /// Of a stopped machine: the disk's top becomes a parent, `overlay` (an empty qcow2 file) the top.
  virtual Status put_overlay(const std::string& serial, const std::string& overlay, std::int64_t deadline_ns) = 0;
  /// Of a running machine: what the parents between the lowest and the top have is copied into the top, which then lies on the lowest alone.
  /// On failure (no room) the chain is as it was.
  virtual Status flatten(const std::string& serial, std::int64_t deadline_ns) = 0;
  /// Kills it and waits. Idempotent.
  virtual void end() = 0;
};


/// A VMM program as the machine sees it. `launch` starts one and waits until it answers.
struct VmmDriver {
  VmmTraits traits;
  std::string command_line;  // of the guest's kernel: its console, how it ends, where its agent finds the channel
  std::function<Result<std::unique_ptr<Vmm>>(vmm::EventLoop& loop, const VmmSpec& spec, std::int64_t deadline_ns)> launch;
};

}  // namespace harena::microvm
