#include "tests/guest/machine.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "sdk/support/files.hpp"
#include "sdk/support/tsc_rate.hpp"

namespace harena::guest_test {
namespace {

using namespace session;
namespace fs = std::filesystem;

std::string environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// HARENA_GUEST_KERNEL with HARENA_GUEST_MODULES, or the newest cloud kernel of the host.
std::string find_kernel() {
  if (auto named = environment("HARENA_GUEST_KERNEL", ""); !named.empty()) return named;
  std::string newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/boot", error)) {
    const auto name = entry.path().string();
    if (name.find("vmlinuz-") != std::string::npos && name.find("cloud") != std::string::npos) newest = std::max(newest, name);
  }
  return newest;
}

std::string find_modules(const std::string& kernel) {
  return environment("HARENA_GUEST_MODULES", fs::path(kernel).parent_path().parent_path().string() + "/lib/modules");
}

bool has_program(const std::string& name) { return std::system(("command -v " + name + " >/dev/null 2>&1").c_str()) == 0; }

std::string build_folder() { return environment("HARENA_BUILD_DIR", "."); }
std::string source_folder() { return environment("HARENA_SOURCE_DIR", "."); }

void must(const std::string& command) {
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
}

bool has_kvm() {
  std::ifstream info("/proc/cpuinfo");
  std::string word;
  while (info >> word) {
    if (word == "vmx" || word == "svm") return ::access("/dev/kvm", R_OK | W_OK) == 0;
  }
  return false;
}

std::string command_line() {
  const std::string always = "console=ttyS0 quiet panic=-1 reboot=t";
  return has_kvm() ? always : always + emulated_kernel_words(tsc_rate_khz());
}

}  // namespace

std::string what_is_missing() {
  if (::getuid() != 0) return "needs root: files of a layer belong to it";
  for (const char* program : {"qemu-system-x86_64", "mkfs.erofs", "mke2fs", "busybox", "python3"}) {
    if (!has_program(program)) return std::string("there is no ") + program + " here";
  }
  const auto kernel = find_kernel();
  if (kernel.empty()) return "there is no /boot/vmlinuz-*cloud* here; apt-get install linux-image-cloud-amd64, or name one with HARENA_GUEST_KERNEL";
  return {};
}

Machine::Machine(const MachineOptions& options) : options_(options) {
  char pattern[] = "/tmp/harena-machine-XXXXXX";
  folder_ = ::mkdtemp(pattern);
  make_files();
  start_qemu();
  if (!options.bridge) return;
  bridge_ = *ChannelBridge::on_host(random_);
  bridge_->replace_channel(connect_channel(), LinkStart::new_epoch);
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  thread_ = std::thread([this] { serve(); });
}

Machine::~Machine() {
  stop_ = true;
  if (thread_.joinable()) with_bridge([](ChannelBridge&) {});
  if (thread_.joinable()) thread_.join();
  bridge_.reset();
  if (qemu_ > 0) {
    ::kill(qemu_, SIGKILL);
    ::waitpid(qemu_, nullptr, 0);
  }
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Machine::make_files() {
  const auto kernel = find_kernel();
  const auto bin = build_folder() + "/bin/";
  must(source_folder() + "/tests/support/tiny_image.sh " + folder_ + "/tree");
  must("cp " + bin + "guest_attack " + folder_ + "/tree/bin/attack");
  must("mkfs.erofs -T0 --all-root " + folder_ + "/layer.erofs " + folder_ + "/tree >/dev/null 2>&1");
  must(source_folder() + "/deploy/trusted_tools.sh " + folder_ + "/tools >/dev/null");
  must(source_folder() + "/deploy/guest-image/harena-guest-image --kernel " + kernel + " --modules " + find_modules(kernel) + " --guest " + bin +
       options_.init + " --shim " + bin + "harena-shim --tools " + folder_ + "/tools --out " + folder_ + "/initramfs >/dev/null");
  must("truncate -s 512M " + folder_ + "/disk.img && mke2fs -q -t ext4 " + folder_ + "/disk.img");
}

void Machine::start_qemu() {
  const auto initramfs = fs::directory_iterator(folder_ + "/initramfs")->path().string();
  std::vector<std::string> words = {
      "qemu-system-x86_64", "-M", std::string("microvm,rtc=on,accel=") + (has_kvm() ? "kvm" : "tcg"), "-cpu", "max", "-m",
      std::to_string(options_.memory_mib), "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial",
      "file:" + folder_ + "/console", "-kernel", find_kernel(), "-initrd", initramfs, "-append", command_line(), "-device",
      "virtio-serial-device", "-chardev", "socket,id=channel,server=on,wait=off,path=" + folder_ + "/channel", "-device",
      "virtserialport,chardev=channel,name=harena.session.0", "-drive",
      "id=layer,if=none,format=raw,readonly=on,file=" + folder_ + "/layer.erofs", "-device", "virtio-blk-device,drive=layer,serial=layer0"};
  if (options_.disk) {
    for (const auto& word : {std::string("-drive"), "id=disk,if=none,format=raw,file=" + folder_ + "/disk.img", std::string("-device"),
                             std::string("virtio-blk-device,drive=disk,serial=disk0")}) {
      words.push_back(word);
    }
  }
  words.insert(words.end(), options_.qemu.begin(), options_.qemu.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  started_ = std::chrono::steady_clock::now();
  qemu_ = ::fork();
  if (qemu_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int log = ::open((folder_ + "/qemu.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ::dup2(log, 2);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
}

UniqueFd Machine::connect_channel() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, (folder_ + "/channel").c_str());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < deadline) {
    UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return socket;
    if (::waitpid(qemu_, nullptr, WNOHANG) == qemu_) break;
    ::poll(nullptr, 0, 5);  // QEMU makes it at some point of its start, and tells nobody
  }
  throw std::runtime_error("QEMU doesn't open its channel: " + read_file_at(AT_FDCWD, folder_ + "/qemu.log").value());
}

void Machine::serve() {
  while (!stop_) {
    std::array<pollfd, 2> fds = {pollfd{bridge_->fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    ::poll(fds.data(), fds.size(), 1000);
    std::uint64_t count = 0;
    (void)!::read(wake_.get(), &count, sizeof count);
    std::vector<std::function<void(ChannelBridge&)>> actions;
    {
      std::lock_guard lock(mutex_);
      actions.swap(actions_);
    }
    for (auto& action : actions) action(*bridge_);
    if (auto status = bridge_->turn(); !status.ok()) {
      std::lock_guard lock(mutex_);
      broken_ = status.error().describe();
    }
  }
}

void Machine::with_bridge(std::function<void(ChannelBridge&)> action) {
  {
    std::lock_guard lock(mutex_);
    actions_.push_back(std::move(action));
  }
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
}

Result<std::string> Machine::ask_raw(FrameType type, const std::string& payload) {
  auto answer = std::make_shared<std::promise<Result<std::string>>>();
  with_bridge([=](ChannelBridge& bridge) {
    bridge.ask(type, payload, 60'000, [answer](Result<std::string> result) { answer->set_value(std::move(result)); });
  });
  return answer->get_future().get();
}

ConfigureRequest Machine::plain_request() {
  ConfigureRequest request;
  request.sandbox = "edge1000000000000001";
  request.layers = {"layer0"};
  request.disk = "disk0";
  request.identity.hostname = "tiny";
  request.identity.machine_id = "0123456789abcdef0123456789abcdef";
  request.identity.entropy = std::string(64, 'e');
  request.identity.wall_ns = std::chrono::system_clock::now().time_since_epoch().count();
  request.pids_max = 200;
  return request;
}

Result<ConfigureAnswer> Machine::configure(const ConfigureRequest& request) {
  HARENA_TRY(auto answer, ask<ConfigureAnswer>(request));
  UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, session_socket().c_str());
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(listener.get(), 128) != 0) {
    return errno_error(errno, "listen on " + session_socket());
  }
  auto shared = std::make_shared<UniqueFd>(std::move(listener));
  with_bridge([shared](ChannelBridge& bridge) { bridge.listen(std::move(*shared)); });
  return answer;
}

void Machine::reconnect(LinkStart start) {
  auto done = std::make_shared<std::promise<void>>();
  with_bridge([this, start, done](ChannelBridge& bridge) {
    bridge.close_channel();
    bridge.replace_channel(connect_channel(), start);
    done->set_value();
  });
  done->get_future().get();
}

std::string Machine::broken() {
  std::lock_guard lock(mutex_);
  return broken_;
}

std::string Machine::console() const {
  std::ifstream file(folder_ + "/console");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

bool Machine::wait_qemu_end(int seconds) {
  for (int i = 0; i < seconds * 100; ++i) {
    if (::waitpid(qemu_, nullptr, WNOHANG) == qemu_) return qemu_ = -1, true;
    ::poll(nullptr, 0, 10);
  }
  return false;
}

}  // namespace harena::guest_test
