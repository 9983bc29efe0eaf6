#pragma once
// Machine: one microVM, from its first boot to its end, whatever VMM process it is in just now.
//
// Every verb is all or nothing: after a failure the guest goes on as it was (or stays paused), and what the verb had made is removed. Verbs
// come one at a time (control_server.hpp). The session endpoint stays the same through all of them, and so do the connections to it: they
// wait while the machine is paused, and end when it goes back to another state (rollback).
//
// How a running machine is captured: a VMM that shall go on is started ahead; the sandbox's processes are frozen by the agent, so that a
// clone's identity is new before any of them runs; the VMM stops and writes the devices' state. The first time, RAM is the shared file: it is
// frozen as it is, and the machine goes on in the VMM started ahead, which maps it privately. From then on RAM is that file and the pages
// written since (ram_delta.hpp): they are copied out, and the same VMM goes on, with a new overlay on its disk. A VMM with RAM of its own
// (VmmTraits) always goes on itself: it writes its memory, later what changed, and RAM files are made complete when the guest runs again.

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "plugins/microvm/machine/machine_config.hpp"
#include "plugins/microvm/machine/machine_image.hpp"
#include "plugins/microvm/machine/vmm.hpp"
#include "sdk/base/random.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/session/tunnel/bridge.hpp"
#include "sdk/vmm/event_loop.hpp"

namespace harena::microvm {

/// What is kept of the console.
inline constexpr std::size_t kConsoleBytes = 64 << 10;
/// A verb's patience with the VMM and with the guest's agent, each step.
inline constexpr std::int64_t kStepPatienceNs = 30'000'000'000;
inline constexpr std::int64_t kAgentPatienceMs = 20'000;
/// How far a guest's clock may be off when it goes on, and how often that is tried.
inline constexpr std::int64_t kClockWithinNs = 50'000'000;
inline constexpr int kClockTries = 3;
/// The serial of the writable disk; layers are "l0", "l1" ...
inline constexpr const char* kDiskSerial = "disk";
/// Files of the disk's chain; with more, the parents are copied into the top one while the machine runs.
inline constexpr std::size_t kMaxDiskFiles = 12;
inline constexpr std::int64_t kFlattenPatienceNs = 120'000'000'000;

class Machine {
 public:
  enum class State { starting, standby, running, paused, ended };

  /// `loop`, `random` outlive it. `group_files`: see VmmSpec.
  Machine(vmm::EventLoop& loop, RandomSource& random, MachineConfig config, std::vector<int> group_files, VmmDriver driver);
  ~Machine();

  /// Boots or starts from config.from, and serves the session endpoint when the guest is ready. Returns what create tells of it.
  Result<json> start();

  /// A machine that runs stands still until somebody claims it, its processes frozen.
  Result<json> stand_by();
  /// Of one that stands by: becomes the sandbox of `config`, which is what this one was started with but for who it is and where its folders
  /// are. Its files and sockets are there already, under the names that they had. What fails ends it.
  Result<json> claim(MachineConfig config);

  // Verbs; each answers with what it has to tell.
  Result<json> pause();
  Result<json> resume();
  /// A machine image in `folder`, which exists and is empty.
  Result<json> snapshot(const std::string& folder);
  /// Becomes what the image in `folder` is; connections end.
  Result<json> rollback(const std::string& folder);
  /// Asks the guest to end by itself within the time.
  Result<json> power_off(std::int64_t grace_ms);
  Result<json> metrics();
  json status() const;
  /// The last that the guest wrote to its serial console, at most kConsoleBytes.
  std::string console() const { return console_text_; }

  State state() const { return state_; }
  /// Of State::ended.
  const Error& why_ended() const { return why_ended_; }

 private:
  // machine_start.cpp
  Result<json> boot();
  Result<json> start_from_image();
  Result<json> start_paused();
  Status join_groups(pid_t process);
  Result<json> configure();
  Status make_ram();
  Status make_disk();
  Status check_fits(const MachineImage& image) const;
  VmmSpec spec(bool incoming, const std::vector<DiskFile>& disk) const;
  Status open_endpoint();
  /// A VMM that is about to go on with the image in vm_dir, on an overlay of its disk where others use that too.
  struct Prepared {
    std::unique_ptr<Vmm> vmm;
    std::vector<DiskFile> disk;
    std::string overlay;  // made for it; empty: none
  };
  Result<Prepared> prepare(const MachineImage& image);
  /// Its guest goes on here: as a clone (new epoch, all of its identity new), or as itself.
  Result<json> go_on(Prepared prepared, const MachineImage& image, session::LinkStart start, bool clone);

  // machine_capture.cpp
  /// Of the VMM that stands still, into `folder`; RAM and disks by links if it isn't this machine's own.
  Result<MachineImage> capture(const std::string& folder, FileNames& names);
  Status add_delta(const std::string& folder, FileNames& names, MachineImage& image);
  /// The VMM that it was in, which stands still: its end takes longer than the whole move.
  Result<std::unique_ptr<Vmm>> move_to(std::unique_ptr<Vmm> ahead, const std::string& state);
  Result<MachineImage> capture_and_go_on(const std::string& folder, FileNames& names, json& told);
  /// Keeps the chain of the disk short; what fails leaves it as it is.
  void shorten_disk();
  Status merge_large_delta(const std::string& folder, FileNames& names, MachineImage& image);
  Result<std::string> make_overlay();
  /// Memory of a VMM that has RAM of its own: all of it, or what changed since ram_ was written.
  Status save_own_ram(const std::string& folder, FileNames& names, MachineImage& image);
  /// ... and the RAM file of the image that was just made is what the next changes are counted from.
  void keep_ram_base(const std::string& folder, const MachineImage& image);
  Status keep_disk(const std::string& folder, FileNames& names, MachineImage& image) const;
  void remove_files(const std::vector<std::string>& names) const;

  // machine.cpp
  /// From here on the machine is in `vmm`. Returns the one that it was in, if any: to drop it is to wait for its end.
  std::unique_ptr<Vmm> adopt_vmm(std::unique_ptr<Vmm> vmm, session::LinkStart start);
  void watch_console();
  std::unique_ptr<Vmm> let_go_of_vmm();
  void fail(Error why);
  Status freeze();
  Status thaw();
  Result<json> renew(bool clone);
  Status narrow_clock(std::int64_t& within_ns);
  session::GuestIdentity identity(bool clone);
  /// The agent's answer. What is told of a machine that ended meanwhile is why.
  Result<std::string> ask(session::FrameType type, std::string payload, std::int64_t timeout_ms, const char* what);
  template <class Request>
  Result<std::string> ask(const Request& request, std::int64_t timeout_ms, const char* what) {
    return ask(Request::kType, session::encode(request), timeout_ms, what);
  }
  std::string path(const std::string& name) const { return config_.vm_dir + "/" + name; }

  vmm::EventLoop& loop_;
  RandomSource& random_;
  MachineConfig config_;
  std::vector<int> group_files_;
  std::vector<UniqueFd> claimed_groups_;  // those that group_files_ are, after a claim
  VmmDriver driver_;
  State state_ = State::starting;
  Error why_ended_;
  std::unique_ptr<session::ChannelBridge> bridge_;
  std::unique_ptr<Vmm> vmm_;
  bool has_channel_ = false;  // to the guest in vmm_: what is asked before would be the last guest's
  UniqueFd console_;
  std::string console_text_;
  FileNames names_;
  /// Name in vm_dir. Of a VMM that has RAM of its own: what it was when it was last saved; empty: it was never, or that is lost.
  std::string ram_;
  RamMapping mapping_ = RamMapping::shared;
  bool link_lost_ = false;  // what the link had under way ended with an earlier process
  std::vector<DiskFile> disk_;     // paths are names in vm_dir
};

}  // namespace harena::microvm
