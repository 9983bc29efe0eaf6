// A Firecracker for tests: a strict fake of its published API, which runs in the same jail as the real one. It has no guest: the bytes of its vsock port
// go to a Unix socket that it finds as the drive "drive-l0" (a socket can be linked into a jail as any file), where the test is the guest; or as
// "guest", which the fake jailer brings, where a whole daemon runs and layers are real (fake_guest.cpp).
//
// Its memory is pages; each piece of bytes that passes writes one and puts a number on the writable disk, as a guest's work would. A state holds a
// sum over the memory and that number, and is only loaded with a memory file and a disk to which both fit: whatever is wrong about files that
// were mixed up, merged wrongly or written on is seen there.
//
// The kernel's command line may ask for trouble: fake.version=V, fake.die=boot|snapshot|load, fake.mute (no API socket), fake.refuse=/PATH,
// fake.full=N (the disk fills up in the N-th snapshot: a state and half a memory are left, and which pages had changed is forgotten).

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "plugins/microvm/machine/testing/fake_schema.hpp"

namespace harena::microvm::testing {
namespace {

constexpr std::size_t kPage = 4096;
/// Of the program itself, beside the command line: trouble before there is one. Lines "word value" in /kernel.
std::string trouble_file() {
  std::ifstream file("/kernel", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Refusal {
  std::string words;
};
[[noreturn]] void refuse(const std::string& words) { throw Refusal{words}; }

/// Guest memory: what isn't in `pages_` is in the file that it was loaded from, or zeros.
class Memory {
 public:
  void size(std::uint64_t bytes) { bytes_ = bytes; }
  std::uint64_t bytes() const { return bytes_; }
  void load(const std::string& path) {
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file_ < 0) refuse("Cannot open the memory file: " + std::string(std::strerror(errno)));
    struct stat status {};
    ::fstat(file_, &status);
    if (static_cast<std::uint64_t>(status.st_size) != bytes_) {
      refuse("File size " + std::to_string(status.st_size) + " does not match the saved memory size " + std::to_string(bytes_));
    }
  }
  void write(std::uint64_t page, char what) {
    pages_[page] = what;
    dirty_.insert(page);
  }
  std::string page(std::uint64_t number) const {
    if (auto found = pages_.find(number); found != pages_.end()) return std::string(kPage, found->second);
    std::string bytes(kPage, '\0');
    if (file_ >= 0) (void)!::pread(file_, bytes.data(), kPage, static_cast<off_t>(number * kPage));
    return bytes;
  }
  /// FNV-1a over all pages that aren't zeros, with their numbers.
  std::uint64_t sum() const {
    std::uint64_t value = 14695981039346656037ull;
    const std::string zeros(kPage, '\0');
    for (std::uint64_t number = 0; number < bytes_ / kPage; ++number) {
      const std::string bytes = page(number);
      if (bytes == zeros) continue;
      value = (value ^ number) * 1099511628211ull;
      for (unsigned char c : bytes) value = (value ^ c) * 1099511628211ull;
    }
    return value;
  }
  void save(const std::string& path, bool whole, bool full) {
    const int out = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0 || ::ftruncate(out, static_cast<off_t>(bytes_)) != 0) refuse("Cannot create memory file: " + std::string(std::strerror(errno)));
    for (std::uint64_t number = 0; number < bytes_ / kPage && !(full && number == bytes_ / kPage / 2); ++number) {
      if (!whole && dirty_.count(number) == 0) continue;
      const std::string bytes = page(number);
      if (::pwrite(out, bytes.data(), kPage, static_cast<off_t>(number * kPage)) != static_cast<ssize_t>(kPage)) refuse("Cannot dump memory");
    }
    ::close(out);
    dirty_.clear();
    if (full) refuse("Create snapshot error: Cannot dump memory: No space left on device (os error 28)");
  }

 private:
  std::uint64_t bytes_ = 128 << 20;
  int file_ = -1;
  std::map<std::uint64_t, char> pages_;
  std::set<std::uint64_t> dirty_;
};

int listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || ::listen(fd, 16) != 0) {
    refuse("Cannot bind " + path + ": " + std::strerror(errno));
  }
  return fd;
}

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
  ::close(fd);
  return -1;
}

class Firecracker {
 public:
  explicit Firecracker(std::string id) : id_(std::move(id)) {}
  [[noreturn]] void serve(const std::string& socket);

 private:
  enum class State { not_started, running, paused };
  struct Connection {
    int host = -1, guest = -1;
    std::string line;  // until the host has said where to
  };

  void serve_one(int peer);
  json answer(const std::string& method, const std::string& path, const json& body);
  void check(const std::string& method, const std::string& path, const json& body) const;
  void configure(const std::string& path, const json& body);
  void put_drive(const std::string& path, const json& body);
  void boot();
  void create_snapshot(const json& body);
  void load_snapshot(const json& body);
  void start_vsock();
  void serve_vsock(Connection& connection, short host, short guest);
  bool pass(int from, int to);
  void work();
  void close_connection(Connection& connection);
  std::string number_on_disk() const;
  bool asked_for(const std::string& word) const { return boot_args_.find(word) != std::string::npos; }

  std::string id_;
  State state_ = State::not_started;
  std::map<std::string, json> settings_;  // by path
  Memory memory_;
  std::string boot_args_;
  std::uint64_t work_ = 0;
  int snapshots_ = 0;
  int vsock_ = -1;
  std::vector<Connection> connections_;
};

void Firecracker::check(const std::string& method, const std::string& path, const json& body) const {
  for (const auto& route : routes()) {
    const std::string pattern = route.path;
    const bool any = pattern.back() == '*' && path.rfind(pattern.substr(0, pattern.size() - 1), 0) == 0;
    if (method != route.method || !(any || pattern == path)) continue;
    if (method != "GET" && !body.is_object()) refuse("Empty PUT or PATCH request.");
    if (auto why = misfit(body.is_null() ? json::object() : body, route.fields); !why.empty()) {
      refuse("An error occurred when deserializing the json body of a request: " + why);
    }
    if (route.when == When::before_boot && state_ != State::not_started) refuse("The requested operation is not supported after starting the microVM.");
    if (route.when == When::after_boot && state_ == State::not_started) refuse("The requested operation is not supported before starting the microVM.");
    return;
  }
  refuse("Invalid request method and/or path: " + method + " " + path + ".");
}

void Firecracker::put_drive(const std::string& path, const json& body) {
  if (path != "/drives/" + body["drive_id"].get<std::string>()) refuse("The id from the path does not match the id from the body!");
  for (char c : body["drive_id"].get<std::string>()) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') refuse("API Resource IDs can only contain alphanumeric characters and underscores.");
  }
  if (body.contains("rate_limiter")) {
    if (auto why = limiter_misfit(body["rate_limiter"], false); !why.empty()) refuse("rate_limiter: " + why);
  }
  const auto file = body.value("path_on_host", "");
  const bool read_only = body.value("is_read_only", false);
  if (::access(file.c_str(), read_only ? R_OK : R_OK | W_OK) != 0) {
    refuse("Unable to create the virtio block device: Error manipulating the backing file: " + std::string(std::strerror(errno)) + " " + file);
  }
}

void Firecracker::configure(const std::string& path, const json& body) {
  if (path.rfind("/drives/", 0) == 0) put_drive(path, body);
  if (path == "/machine-config") {
    const auto cpus = body["vcpu_count"].get<std::int64_t>();
    if (cpus < 1 || cpus > 32) refuse("The vCPU number is invalid! The vCPU number can only be 1 or an even number when SMT is enabled.");
    if (body["mem_size_mib"].get<std::int64_t>() <= 0) refuse("The memory size (MiB) is invalid.");
    memory_.size(body["mem_size_mib"].get<std::uint64_t>() << 20);
  }
  if (path == "/boot-source") {
    std::ifstream kernel(body["kernel_image_path"].get<std::string>(), std::ios::binary);
    char magic[4] = {};
    if (!kernel.read(magic, 4) || std::string_view(magic, 4) != "\177ELF") refuse("The kernel file cannot be opened: Invalid ELF magic number");
    if (body.contains("initrd_path") && ::access(body["initrd_path"].get<std::string>().c_str(), R_OK) != 0) refuse("The initrd file cannot be opened");
    boot_args_ = body.value("boot_args", "");
  }
  if (path == "/vsock" && body["guest_cid"].get<std::int64_t>() < 3) refuse("guest_cid is below 3");
  settings_[path] = body;
}

void Firecracker::boot() {
  if (state_ != State::not_started) refuse("The requested operation is not supported after starting the microVM.");
  if (settings_.count("/boot-source") == 0) refuse("Cannot start microvm without kernel configuration.");
  if (asked_for("fake.die=boot")) ::raise(SIGSEGV);
  start_vsock();
  state_ = State::running;
  work();
}

/// What the guest has put on its disk.
std::string Firecracker::number_on_disk() const {
  std::string bytes(32, '\0');
  const int disk = ::open("/drive-disk", O_RDONLY | O_CLOEXEC);
  const ssize_t got = disk < 0 ? 0 : ::pread(disk, bytes.data(), bytes.size(), 0);
  if (disk >= 0) ::close(disk);
  bytes.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return bytes.c_str();
}

void Firecracker::work() {
  ++work_;
  const std::uint64_t pages = memory_.bytes() / kPage;
  memory_.write(work_ * 7919 % pages, work_ % 5 == 0 ? '\0' : static_cast<char>('a' + work_ % 26));
  const int disk = ::open("/drive-disk", O_RDWR | O_CLOEXEC);
  if (disk < 0) return;
  std::string number = std::to_string(work_);
  number.resize(32, '\0');
  (void)!::pwrite(disk, number.data(), number.size(), 0);
  ::close(disk);
}

void Firecracker::create_snapshot(const json& body) {
  if (state_ != State::paused) refuse("Create snapshot error: Cannot save the microVM state: the microVM is not paused");
  const bool diff = body.value("snapshot_type", "Full") == "Diff";
  if (diff && !settings_["/machine-config"].value("track_dirty_pages", false)) refuse("Create snapshot error: Diff snapshots are not allowed on uVMs with dirty page tracking disabled.");
  if (asked_for("fake.die=snapshot")) ::raise(SIGSEGV);
  const auto memory_path = body["mem_file_path"].get<std::string>();
  const auto state_path = body["snapshot_path"].get<std::string>();
  json settings = json::object();
  for (const auto& [path, setting] : settings_) settings[path] = setting;
  const json state = {{"fake", 1}, {"settings", settings}, {"memory", memory_.sum()}, {"disk", number_on_disk()}, {"work", work_}};
  std::ofstream out(state_path);
  out << state.dump();
  out.close();
  if (!out) refuse("Create snapshot error: Cannot write " + state_path);
  ++snapshots_;
  memory_.save(memory_path, !diff, asked_for("fake.full=" + std::to_string(snapshots_)));
  for (auto& connection : connections_) close_connection(connection);
}

void Firecracker::load_snapshot(const json& body) {
  if (!settings_.empty()) refuse("Load snapshot error: Loading a microVM snapshot not allowed after configuring boot-specific resources.");
  const json backend = body.value("mem_backend", json::object());
  if (body.contains("mem_file_path") == body.contains("mem_backend")) refuse("Load snapshot error: exactly one of mem_file_path and mem_backend");
  if (auto why = misfit(backend, {{"backend_type", "File|Uffd", true}, {"backend_path", "string", true}}); !why.empty()) refuse(why);
  std::ifstream in(body["snapshot_path"].get<std::string>());
  const json state = json::parse(in, nullptr, false);
  if (!state.is_object() || !state.contains("fake")) refuse("Load snapshot error: Failed to restore from snapshot: no valid microVM state");
  for (const auto& [path, setting] : state["settings"].items()) {
    if (path.rfind("/drives/", 0) == 0) put_drive(path, setting);
    settings_[path] = setting;
  }
  settings_["/machine-config"]["track_dirty_pages"] = body.value("enable_diff_snapshots", false);
  boot_args_ = settings_["/boot-source"].value("boot_args", "");
  if (asked_for("fake.die=load")) ::raise(SIGSEGV);
  memory_.size(settings_["/machine-config"]["mem_size_mib"].get<std::uint64_t>() << 20);
  memory_.load(backend["backend_path"].get<std::string>());
  if (memory_.sum() != state["memory"].get<std::uint64_t>()) refuse("Load snapshot error: the memory isn't that of the state");
  if (number_on_disk() != state["disk"].get<std::string>()) refuse("Load snapshot error: the disk isn't that of the state");
  work_ = state["work"].get<std::uint64_t>();
  start_vsock();
  state_ = body.value("resume_vm", false) ? State::running : State::paused;
}

json Firecracker::answer(const std::string& method, const std::string& path, const json& body) {
  check(method, path, body);
  if (asked_for("fake.refuse=" + path)) refuse("as the test asked for");
  if (path == "/") {
    const char* names[] = {"Not started", "Running", "Paused"};
    return {{"id", id_}, {"state", names[static_cast<int>(state_)]}, {"vmm_version", "1.10.1"}, {"app_name", "Firecracker"}};
  }
  if (path == "/version") {
    const std::string trouble = trouble_file();
    const auto at = trouble.find("fake.version=");
    return {{"firecracker_version", at == std::string::npos ? "1.10.1" : trouble.substr(at + 13, trouble.find('\n', at) - at - 13)}};
  }
  if (path == "/actions") {
    if (body["action_type"] != "InstanceStart") refuse("not played");
    boot();
  } else if (path == "/vm") {
    state_ = body["state"] == "Paused" ? State::paused : State::running;
  } else if (path == "/snapshot/create") {
    create_snapshot(body);
  } else if (path == "/snapshot/load") {
    load_snapshot(body);
  } else if (method == "PATCH") {
    if (settings_.count(path) == 0) refuse("Invalid block device ID!");
    const json limiter = body.value("rate_limiter", json::object());
    if (auto why = limiter_misfit(limiter, true); !why.empty()) refuse("rate_limiter: " + why);
    settings_[path].erase("rate_limiter");
    for (const auto& [kind, bucket] : limiter.items()) {
      if (bucket["size"] > 0) settings_[path]["rate_limiter"][kind] = bucket;
    }
  } else {
    configure(path, body);
  }
  return nullptr;
}

void Firecracker::serve_one(int peer) {
  std::string text;
  std::size_t head = std::string::npos, length = 0;
  char bytes[4096];
  for (ssize_t got; (head == std::string::npos || text.size() < head + 4 + length) && (got = ::read(peer, bytes, sizeof bytes)) > 0;) {
    text.append(bytes, static_cast<std::size_t>(got));
    if ((head = text.find("\r\n\r\n")) == std::string::npos) continue;
    const auto at = text.find("Content-Length: ");
    length = at == std::string::npos || at > head ? 0 : std::strtoul(text.c_str() + at + 16, nullptr, 10);
  }
  if (head == std::string::npos) return;
  std::istringstream line(text.substr(0, text.find("\r\n")));
  std::string method, path, version;
  line >> method >> path >> version;
  std::string status = "204 No Content", reply;
  try {
    const std::string body = text.substr(head + 4);
    const json parsed = body.empty() ? json() : json::parse(body, nullptr, false);
    if (const json told = answer(method, path, parsed); !told.is_null()) {
      status = "200 OK";
      reply = told.dump();
    }
  } catch (const Refusal& refusal) {
    status = "400 Bad Request";
    reply = json{{"fault_message", refusal.words}}.dump();
  }
  const std::string out = "HTTP/1.1 " + status + "\r\nServer: Firecracker API\r\nConnection: close\r\nContent-Type: application/json\r\n" +
                          (reply.empty() ? "" : "Content-Length: " + std::to_string(reply.size()) + "\r\n") + "\r\n" + reply;
  (void)!::write(peer, out.data(), out.size());
}

void Firecracker::start_vsock() {
  if (settings_.count("/vsock") != 0) vsock_ = listen_at(settings_["/vsock"]["uds_path"].get<std::string>());
}

void Firecracker::close_connection(Connection& connection) {
  if (connection.host >= 0) ::close(connection.host);
  if (connection.guest >= 0) ::close(connection.guest);
  connection.host = connection.guest = -1;
}

bool Firecracker::pass(int from, int to) {
  char bytes[4096];
  const ssize_t got = ::read(from, bytes, sizeof bytes);
  if (got <= 0) return false;
  work();
  return ::send(to, bytes, static_cast<std::size_t>(got), MSG_NOSIGNAL) == got;
}

void Firecracker::serve_vsock(Connection& connection, short host, short guest) {
  if (connection.guest >= 0) {
    if ((host != 0 && !pass(connection.host, connection.guest)) || (guest != 0 && !pass(connection.guest, connection.host))) close_connection(connection);
    return;
  }
  char byte = 0;
  if (host == 0) return;
  if (::read(connection.host, &byte, 1) != 1 || connection.line.size() > 32) return close_connection(connection);
  if (byte != '\n') {
    connection.line += byte;
    return;
  }
  if (connection.line != "CONNECT 1021") return close_connection(connection);
  struct stat layer{};
  const bool is_guest = ::stat("/drive-l0", &layer) == 0 && S_ISSOCK(layer.st_mode);
  connection.guest = connect_to(is_guest ? "/drive-l0" : "/guest");
  if (connection.guest < 0) return close_connection(connection);
  (void)!::write(connection.host, "OK 1073741824\n", 14);
}

void Firecracker::serve(const std::string& socket) {
  const int api = listen_at(socket);
  std::printf("fake firecracker %s\n", id_.c_str());
  std::fflush(stdout);
  while (true) {
    // Nothing of the guest goes on while it stands still.
    const bool runs = state_ == State::running;
    std::vector<pollfd> fds = {{api, POLLIN, 0}, {runs ? vsock_ : -1, POLLIN, 0}};
    for (const auto& one : connections_) {
      fds.push_back({runs ? one.host : -1, POLLIN, 0});
      fds.push_back({runs ? one.guest : -1, POLLIN, 0});
    }
    ::poll(fds.data(), fds.size(), -1);
    for (std::size_t i = 0; i < connections_.size(); ++i) serve_vsock(connections_[i], fds[2 + 2 * i].revents, fds[3 + 2 * i].revents);
    if (fds[1].revents != 0) connections_.push_back({::accept4(vsock_, nullptr, nullptr, SOCK_CLOEXEC), -1, {}});
    if (fds[0].revents == 0) continue;
    const int peer = ::accept4(api, nullptr, nullptr, SOCK_CLOEXEC);
    serve_one(peer);
    ::close(peer);
  }
}

}  // namespace
}  // namespace harena::microvm::testing

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::printf("Firecracker v1.10.1\n\nno real one\n");
    return 0;
  }
  std::map<std::string, std::string> options;
  for (int i = 1; i + 1 < argc; i += 2) options[argv[i]] = argv[i + 1];
  if (harena::microvm::testing::trouble_file().find("fake.mute\n") != std::string::npos) {
    while (true) ::pause();
  }
  if (harena::microvm::testing::trouble_file().find("fake.end\n") != std::string::npos) {
    std::fprintf(stderr, "no /dev/kvm, the fake says\n");
    return 3;
  }
  ::signal(SIGPIPE, SIG_IGN);
  harena::microvm::testing::Firecracker(options["--id"]).serve(options["--api-sock"]);
}
