// Machines under a strict fake of Firecracker and of its jailer (testing/): the real jail, API, vsock and files; the guest's agent is this test.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include "plugins/microvm/machine/firecracker_vmm.hpp"
#include "plugins/microvm/machine/machine.hpp"
#include "plugins/microvm/machine/ticker.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;
using namespace session;

constexpr std::uint32_t kUid = 0x6ff0f00d;
constexpr std::int64_t kRam = 8 << 20;

UniqueFd listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << std::strerror(errno);
  EXPECT_EQ(::listen(fd.get(), 16), 0);
  return fd;
}

UniqueFd connect_to(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0) << path << ": " << std::strerror(errno);
  return fd;
}

/// The agent of a guest, on the socket that the fake takes for the guest's vsock port.
class Guest {
 public:
  Guest(const std::string& path, const std::string& shim) : shim_(shim), listener_(listen_at(path)), sessions_(listen_at(shim)) {
    // What the VMM's user may connect to, and what the jail may link: read by all, written by its owner alone.
    EXPECT_EQ(::chown(path.c_str(), kUid, kUid), 0);
    EXPECT_EQ(::chmod(path.c_str(), 0704), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~Guest() {
    leave_ = true;
    thread_.join();
  }
  ConfigureRequest configured() {
    std::lock_guard lock(mutex_);
    return configured_;
  }
  int connections() const { return connections_; }
  int renewed() const { return renewed_; }

 private:
  void run() {
    std::vector<UniqueFd> echoes;
    while (!leave_) {
      std::vector<pollfd> fds = {{listener_.get(), POLLIN, 0}, {bridge_ ? bridge_->fd() : -1, POLLIN, 0}, {sessions_.get(), POLLIN, 0}};
      for (const auto& one : echoes) fds.push_back({one.get(), POLLIN, 0});
      ::poll(fds.data(), fds.size(), 5);
      if (UniqueFd fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)); fd) connect(std::move(fd));
      if (UniqueFd fd(::accept4(sessions_.get(), nullptr, nullptr, SOCK_CLOEXEC)); fd) echoes.push_back(std::move(fd));
      if (bridge_) (void)bridge_->turn();
      for (auto& one : echoes) {
        char bytes[4096];
        const auto got = ::recv(one.get(), bytes, sizeof bytes, MSG_DONTWAIT);
        if (got > 0) (void)!::send(one.get(), bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL);
      }
    }
    bridge_.reset();
  }
  void connect(UniqueFd fd) {
    ++connections_;
    if (bridge_) return bridge_->renew_channel(std::move(fd));
    bridge_ = *ChannelBridge::in_guest(std::move(fd), shim_, [this](FrameType type, const std::string& payload, AgentReply reply) { answer(type, payload, reply); });
  }
  void answer(FrameType type, const std::string& payload, const AgentReply& reply) {
    std::lock_guard lock(mutex_);
    if (type == FrameType::agent_configure) {
      configured_ = *decode<ConfigureRequest>(payload);
      return reply(encode(ConfigureAnswer{"6.1-fake", "test", 1, 2, 3}));
    }
    if (type == FrameType::agent_renew) ++renewed_;
    if (type == FrameType::agent_renew) return reply(encode(RenewAnswer{{"clock"}, 0}));
    if (type == FrameType::agent_metrics) return reply(encode(MetricsAnswer{}));
    reply(std::string());
  }

  std::string shim_;
  UniqueFd listener_, sessions_;
  std::unique_ptr<ChannelBridge> bridge_;
  std::mutex mutex_;
  ConfigureRequest configured_;
  std::atomic<int> connections_{0}, renewed_{0};
  std::atomic<bool> leave_{false};
  std::thread thread_;
};

/// A machine with its folders and its guest.
struct Rig {
  Rig(const std::string& base, const std::string& name, const std::string& trouble, const std::string& from = {})
      : folder(base + "/" + name), loop(*vmm::EventLoop::make()), driver(firecracker_driver()) {
    for (const char* part : {"", "/run", "/vm"}) fs::create_directory(folder + part);
    std::ofstream(folder + "/kernel") << "\177ELF and\n" << trouble << "\n";
    std::ofstream(folder + "/initramfs") << "cpio";
    guest = std::make_unique<Guest>(folder + "/l0", folder + "/shim.sock");
    config = {.sandbox = name, .run_dir = folder + "/run", .vm_dir = folder + "/vm", .from = from, .vmm = "firecracker",
              .program = HARENA_FAKES "/fake_firecracker", .jailer = HARENA_FAKES "/fake_jailer", .firmware_dir = "", .kernel = folder + "/kernel",
              .initramfs = folder + "/initramfs"};
    config.accelerator = Accelerator::kvm;
    config.ram_bytes = kRam;
    config.disk_bytes = 16 << 20;
    config.layers = {{"sha256:l", folder + "/l0"}};
    config.uid = kUid;
    config.hostname = name;
    config.start_timeout_ms = 20'000;
  }
  Result<json> start() {
    machine = std::make_unique<Machine>(*loop, random, config, std::vector<int>{}, driver);
    return machine->start();
  }
  /// Lets the loop serve until `done`.
  void serve(const std::function<bool()>& done) {
    Ticker ticker(*loop);
    ASSERT_TRUE(ticker.start(2'000'000, [] {}).ok());
    const Status came = loop->run_until(done, monotonic_now_ns() + 20'000'000'000, "it");
    ASSERT_TRUE(came.ok()) << came.error().message;
  }
  std::string echo(int fd, const std::string& text) {
    (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    std::string got;
    serve([&] {
      char bytes[4096];
      const auto count = ::recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
      if (count > 0) got.append(bytes, static_cast<std::size_t>(count));
      return got.size() >= text.size();
    });
    return got;
  }
  int jails() const {
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder + "/vm")) count += entry.path().filename().string().starts_with("vmm-");
    return count;
  }

  /// Files that the VMM was to write and nobody has taken.
  int left_by_the_vmm() const {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder + "/vm")) count += entry.path().parent_path().filename() == "out";
    return count;
  }

  std::string folder;
  std::unique_ptr<vmm::EventLoop> loop;
  SystemRandom random;
  VmmDriver driver;
  MachineConfig config;
  std::unique_ptr<Guest> guest;
  std::unique_ptr<Machine> machine;
};

#define ASSERT_DONE(expression)                                       \
  do {                                                                \
    const auto done_ = (expression);                                  \
    ASSERT_TRUE(done_.ok()) << #expression << ": " << done_.error().message; \
  } while (false)

class Firecracker : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::getuid() != 0) GTEST_SKIP() << "needs root: a jail has namespaces and users of its own";
    char name[] = "/tmp/harena-fc-XXXXXX";
    base_ = ::mkdtemp(name);
  }
  void TearDown() override {
    if (!base_.empty()) fs::remove_all(base_);
  }
  std::string image(const std::string& name) {
    fs::create_directory(base_ + "/" + name);
    return base_ + "/" + name;
  }
  std::string refusal(const std::string& trouble, const std::string& words = {}) {
    Rig rig(base_, "r" + std::to_string(++rigs_), trouble);
    if (!words.empty()) rig.driver.command_line += " " + words;
    rig.config.start_timeout_ms = 2'000;
    const auto told = rig.start();
    EXPECT_FALSE(told.ok()) << trouble << words;
    const std::string message = told.ok() ? "" : told.error().describe();
    rig.machine.reset();
    EXPECT_EQ(rig.jails(), 0) << trouble << words;
    return message;
  }

  std::string base_;
  int rigs_ = 0;
};

TEST_F(Firecracker, BootsAndTellsTheGuestItsDisks) {
  Rig rig(base_, "one", "");
  auto told = rig.start();
  ASSERT_TRUE(told.ok()) << told.error().message;
  EXPECT_EQ((*told)["vmm"], "firecracker 1.10.1");
  struct stat layer{}, disk{};
  ASSERT_EQ(::stat((rig.folder + "/l0").c_str(), &layer), 0);
  ASSERT_EQ(::stat((rig.folder + "/vm/disk.1").c_str(), &disk), 0);
  const auto serial = [](const struct stat& s) { return (std::to_string(s.st_dev) + std::to_string(s.st_rdev) + std::to_string(s.st_ino)).substr(0, 20); };
  EXPECT_EQ(rig.guest->configured().layers, std::vector<std::string>{serial(layer)});
  EXPECT_EQ(rig.guest->configured().disk, serial(disk));
  const UniqueFd session = connect_to(rig.folder + "/run/session.sock");
  EXPECT_EQ(rig.echo(session.get(), "through vsock"), "through vsock");
}

TEST_F(Firecracker, ConnectionsLiveOnThroughSnapshotsAndPauses) {
  Rig rig(base_, "one", "");
  ASSERT_DONE(rig.start());
  const UniqueFd session = connect_to(rig.folder + "/run/session.sock");
  EXPECT_EQ(rig.echo(session.get(), "before"), "before");
  for (int round = 0; round < 3; ++round) {
    const std::string name = "image" + std::to_string(round);
    ASSERT_DONE(rig.machine->snapshot(image(name)));
    EXPECT_EQ(rig.echo(session.get(), "after a snapshot"), "after a snapshot");
    ASSERT_DONE(rig.machine->pause());
    EXPECT_EQ(rig.machine->state(), Machine::State::paused);
    EXPECT_EQ(rig.jails(), 0);
    ASSERT_DONE(rig.machine->resume());
    EXPECT_EQ(rig.echo(session.get(), "after a pause"), "after a pause");
  }
  EXPECT_GE(rig.guest->connections(), 7);  // each snapshot and each resume resets the guest's
}

TEST_F(Firecracker, EverySnapshotOfARowStartsWithItsMemoryAndItsDisk) {
  Rig source(base_, "source", "");
  ASSERT_DONE(source.start());
  const UniqueFd session = connect_to(source.folder + "/run/session.sock");
  std::vector<std::string> images;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(source.echo(session.get(), "work"), "work");
    images.push_back(image("image" + std::to_string(i)));
    ASSERT_DONE(source.machine->snapshot(images.back()));
    EXPECT_TRUE(MachineImage::read(images.back())->delta.empty());
  }
  // The fake refuses a memory or a disk that isn't that of the state.
  for (const auto& from : images) {
    Rig clone(base_, "clone" + std::to_string(++rigs_), "", from);
    auto told = clone.start();
    ASSERT_TRUE(told.ok()) << from << ": " << told.error().message;
    EXPECT_EQ(clone.guest->renewed(), 1);
    const auto theirs = image("theirs" + std::to_string(rigs_));
    ASSERT_DONE(clone.machine->snapshot(theirs));
    Rig grandchild(base_, "grandchild" + std::to_string(rigs_), "", theirs);
    ASSERT_DONE(grandchild.start());
  }
  EXPECT_EQ(source.echo(session.get(), "still there"), "still there");
}

TEST_F(Firecracker, RollsBackRunningAndPaused) {
  Rig rig(base_, "one", "");
  ASSERT_DONE(rig.start());
  const auto first = image("first");
  ASSERT_DONE(rig.machine->snapshot(first));
  ASSERT_DONE(rig.machine->metrics());
  ASSERT_DONE(rig.machine->rollback(first));
  ASSERT_DONE(rig.machine->pause());
  ASSERT_DONE(rig.machine->rollback(first));
  EXPECT_EQ(rig.machine->state(), Machine::State::running);
  ASSERT_DONE(rig.machine->snapshot(image("second")));
  EXPECT_EQ(rig.jails(), 1);
}

TEST_F(Firecracker, ASnapshotOfAPausedMachineStarts) {
  Rig rig(base_, "one", "");
  ASSERT_DONE(rig.start());
  ASSERT_DONE(rig.machine->pause());
  const auto taken = image("taken");
  ASSERT_DONE(rig.machine->snapshot(taken));
  ASSERT_DONE(rig.machine->resume());
  ASSERT_DONE(rig.machine->metrics());
  ASSERT_DONE(rig.machine->pause());
  ASSERT_DONE(rig.machine->resume());
  Rig clone(base_, "clone", "", taken);
  ASSERT_DONE(clone.start());
}

TEST_F(Firecracker, ARefusedSnapshotLeavesTheMachineRunningAndTheNextOneWhole) {
  // The first writes the whole memory, the later ones what changed.
  for (int which : {1, 2, 3}) {
    const std::string name = "r" + std::to_string(which);
    Rig rig(base_, name, "");
    rig.driver.command_line += " fake.full=" + std::to_string(which);
    ASSERT_DONE(rig.start());
    const UniqueFd session = connect_to(rig.folder + "/run/session.sock");
    for (int good = 1; good < which; ++good) {
      ASSERT_DONE(rig.machine->snapshot(image(name + "-good" + std::to_string(good))));
      EXPECT_EQ(rig.echo(session.get(), "work"), "work");
    }
    const auto refused = image(name + "-refused");
    const auto told = rig.machine->snapshot(refused);
    ASSERT_FALSE(told.ok());
    EXPECT_NE(told.error().message.find("No space left on device"), std::string::npos) << told.error().message;
    EXPECT_TRUE(fs::is_empty(refused));
    EXPECT_EQ(rig.left_by_the_vmm(), 0);
    EXPECT_EQ(rig.machine->state(), Machine::State::running);
    EXPECT_EQ(rig.echo(session.get(), "still there"), "still there");
    ASSERT_DONE(rig.machine->metrics());
    const auto next = image(name + "-next");
    ASSERT_DONE(rig.machine->snapshot(next));
    Rig clone(base_, name + "-clone", "", next);
    ASSERT_DONE(clone.start());
    EXPECT_EQ(rig.echo(session.get(), "and now"), "and now");
  }
}

TEST_F(Firecracker, APauseThatIsRefusedLeavesTheMachineRunning) {
  Rig rig(base_, "one", "");
  rig.driver.command_line += " fake.full=1";
  ASSERT_DONE(rig.start());
  const UniqueFd session = connect_to(rig.folder + "/run/session.sock");
  ASSERT_FALSE(rig.machine->pause().ok());
  EXPECT_EQ(rig.machine->state(), Machine::State::running);
  EXPECT_EQ(rig.left_by_the_vmm(), 0);
  EXPECT_EQ(rig.echo(session.get(), "still there"), "still there");
  ASSERT_DONE(rig.machine->pause());
  ASSERT_DONE(rig.machine->resume());
  EXPECT_EQ(rig.echo(session.get(), "again"), "again");
}

TEST_F(Firecracker, WhatGoesWrongAtTheStartIsNamed) {
  EXPECT_NE(refusal("fake.version=1.7.0").find("'1.7.0'; 1.8 or a newer"), std::string::npos);
  EXPECT_NE(refusal("fake.version=2.0.0").find("'2.0.0'"), std::string::npos);
  EXPECT_NE(refusal("fake.version=dev").find("'dev'"), std::string::npos);
  const std::string ended = refusal("fake.end");
  EXPECT_NE(ended.find("exit 3"), std::string::npos) << ended;
  EXPECT_NE(ended.find("no /dev/kvm, the fake says"), std::string::npos) << ended;
}

TEST_F(Firecracker, EachRequestThatIsRefusedIsNamedWithItsWords) {
  for (const char* path : {"/drives/drive_l0", "/drives/drive_disk", "/vsock", "/entropy", "/actions"}) {
    const std::string message = refusal("", std::string("fake.refuse=") + path);
    EXPECT_NE(message.find(std::string("PUT ") + path + " (400): as the test asked for"), std::string::npos) << message;
  }
}

TEST_F(Firecracker, AVmmThatDiesInItsBootIsNoMachine) {
  const std::string message = refusal("", "fake.die=boot");
  EXPECT_NE(message.find("PUT /actions"), std::string::npos) << message;
}

TEST_F(Firecracker, AVmmThatDiesInASnapshotIsAFailedMachine) {
  Rig rig(base_, "one", "");
  rig.driver.command_line += " fake.die=snapshot";
  ASSERT_DONE(rig.start());
  EXPECT_FALSE(rig.machine->snapshot(image("none")).ok());
  rig.serve([&] { return rig.machine->state() == Machine::State::ended; });
  EXPECT_EQ(rig.machine->why_ended().cause, Cause::infrastructure);
}

TEST_F(Firecracker, AVmmThatDiesWhileItLoadsLeavesTheMachinePaused) {
  Rig rig(base_, "one", "");
  rig.driver.command_line += " fake.die=load";
  ASSERT_DONE(rig.start());
  ASSERT_DONE(rig.machine->pause());
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(rig.machine->resume().ok());
    EXPECT_EQ(rig.machine->state(), Machine::State::paused);
    EXPECT_EQ(rig.jails(), 0);
  }
}

VmmSpec spec_of(const Rig& rig) {
  VmmSpec spec{.program = rig.config.program, .jailer = rig.config.jailer, .work_dir = rig.folder + "/vm", .log_path = rig.folder + "/vm/vmm.log",
               .kernel = rig.config.kernel, .initramfs = rig.config.initramfs};
  spec.ram_bytes = kRam;
  spec.uid = kUid;
  return spec;
}

TEST_F(Firecracker, AnApiSocketThatNeverComesEndsTheWaitAndTheProcesses) {
  Rig rig(base_, "one", "fake.mute");
  auto launched = launch_firecracker(*rig.loop, spec_of(rig), monotonic_now_ns() + 300'000'000);
  ASSERT_FALSE(launched.ok());
  EXPECT_EQ(launched.error().code, ErrorCode::deadline_exceeded) << launched.error().message;
  EXPECT_EQ(rig.jails(), 0);
}

/// The VMM itself: the only child of its keeper.
pid_t vmm_below(pid_t keeper) {
  std::ifstream children("/proc/" + std::to_string(keeper) + "/task/" + std::to_string(keeper) + "/children");
  pid_t pid = -1;
  children >> pid;
  return pid;
}

std::string status_line(pid_t pid, const std::string& key) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(key + ":")) return line.substr(key.size() + 2);
  }
  return {};
}

std::map<int, std::string> descriptors_of(pid_t pid) {
  std::map<int, std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
    std::error_code gone;
    const std::string what = fs::read_symlink(entry.path(), gone).string();
    if (!gone) found[std::stoi(entry.path().filename())] = what;
  }
  return found;
}

TEST_F(Firecracker, ItsJailHasNothingButWhatItNeeds) {
  Rig rig(base_, "one", "");
  auto launched = launch_firecracker(*rig.loop, spec_of(rig), monotonic_now_ns() + 10'000'000'000);
  ASSERT_TRUE(launched.ok()) << launched.error().message;
  const pid_t keeper = (*launched)->pid();
  const pid_t vmm = vmm_below(keeper);
  ASSERT_GT(vmm, 0);
  const std::string user = std::to_string(kUid);
  for (pid_t pid : {keeper, vmm}) {
    EXPECT_EQ(status_line(pid, "Uid"), user + "\t" + user + "\t" + user + "\t" + user);
    EXPECT_EQ(status_line(pid, "Gid"), user + "\t" + user + "\t" + user + "\t" + user);
    EXPECT_EQ(status_line(pid, "Groups").find_first_of("0123456789"), std::string::npos);
    EXPECT_EQ(status_line(pid, "CapEff"), "0000000000000000");
    EXPECT_EQ(status_line(pid, "NoNewPrivs"), "1");
    for (const char* kind : {"pid", "net", "ipc", "uts"}) {
      const std::string name = std::string("/ns/") + kind;
      EXPECT_NE(fs::read_symlink("/proc/" + std::to_string(pid) + name), fs::read_symlink("/proc/self" + name)) << kind;
    }
  }
  EXPECT_NE(fs::read_symlink("/proc/" + std::to_string(vmm) + "/ns/mnt"), fs::read_symlink("/proc/self/ns/mnt"));
  std::set<std::string> root;
  for (const auto& entry : fs::directory_iterator("/proc/" + std::to_string(vmm) + "/root/")) root.insert(entry.path().filename());
  EXPECT_EQ(root, (std::set<std::string>{"api.sock", "dev", "fake_firecracker", "initramfs", "kernel", "out", "run", "v.sock"}));
  // Its three streams, its listeners, and the connection of the last question as long as that isn't closed: nothing that was inherited.
  for (const auto& [number, what] : descriptors_of(vmm)) {
    EXPECT_TRUE(number <= 2 || what.rfind("socket:", 0) == 0) << number << " is " << what;
  }
  EXPECT_LE(descriptors_of(vmm).size(), 6U);
  launched->reset();
  EXPECT_NE(::kill(vmm, 0), 0);
}

TEST_F(Firecracker, DiesWithTheProcessThatStartedIt) {
  Rig rig(base_, "one", "");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const VmmSpec spec = spec_of(rig);
  const pid_t child = ::fork();
  if (child == 0) {
    auto loop = *vmm::EventLoop::make();
    auto launched = launch_firecracker(*loop, spec, monotonic_now_ns() + 10'000'000'000);
    const pid_t vmm = launched.ok() ? vmm_below((*launched)->pid()) : -1;
    (void)!::write(ends[1], &vmm, sizeof vmm);
    while (true) ::pause();
  }
  write_end.reset();
  pid_t vmm = -1;
  ASSERT_EQ(::read(read_end.get(), &vmm, sizeof vmm), static_cast<ssize_t>(sizeof vmm));
  ASSERT_GT(vmm, 0);
  auto process = process_ref(vmm);
  ASSERT_TRUE(process.ok());
  auto pidfd = open_process(*process);
  ASSERT_TRUE(pidfd.ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(wait_process_end(pidfd->get(), monotonic_now_ns() + 10'000'000'000));
}

}  // namespace
}  // namespace harena::microvm
