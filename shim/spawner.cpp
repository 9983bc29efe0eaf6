#include "shim/spawner.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sdk/session/hello.hpp"
#include "shim/fault.hpp"
#include "shim/light_child.hpp"

namespace harena::shim {
namespace {

/// A message has a mark, a letter of flags, and the encoded request; a longer request comes as a memory file.
constexpr std::size_t kPrefixBytes = 9;
constexpr std::size_t kInlineBytes = 64 << 10;
constexpr std::size_t kMaxFds = 6;
enum Flag : unsigned char { kHasInput = 1, kHasOutputs = 2, kHasCgroup = 4, kIsFile = 8 };

Error lost() {
  constexpr auto kText = "the process that starts commands is gone; it is being started again";
  auto error = infrastructure_error(ErrorCode::unavailable, "shim", kText);
  error.retry = Retry::same_node;
  return error;
}

Result<UniqueFd> as_file(std::string_view bytes) {
  UniqueFd file(static_cast<int>(::syscall(SYS_memfd_create, "order", MFD_CLOEXEC)));
  if (!file) return errno_error(errno, "memfd_create");
  for (std::size_t done = 0; done < bytes.size();) {
    auto wrote = ::pwrite(file.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (wrote <= 0) return errno_error(errno, "writing an order");
    done += static_cast<std::size_t>(wrote);
  }
  return file;
}

std::string read_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return {};
  std::string text(static_cast<std::size_t>(info.st_size), '\0');
  auto got = ::pread(fd, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

bool send_order(int socket, const std::string& prefix, std::string_view body, const std::vector<int>& fds) {
  std::array<iovec, 2> parts = {iovec{const_cast<char*>(prefix.data()), prefix.size()}, iovec{const_cast<char*>(body.data()), body.size()}};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  message.msg_control = control.data();
  message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  // Waits only behind thousands of orders (make_room).
  ssize_t sent;
  while ((sent = ::sendmsg(socket, &message, MSG_NOSIGNAL)) < 0 && errno == EINTR) {
  }
  return sent > 0;
}

struct ReceivedOrder {
  std::string bytes;
  std::vector<UniqueFd> fds;
  std::size_t used = 0;
  UniqueFd next() { return used < fds.size() ? std::move(fds[used++]) : UniqueFd(); }
};

/// False at the end: the shim has gone.
bool receive_order(int socket, ReceivedOrder& order) {
  static std::array<char, kPrefixBytes + kInlineBytes> buffer;  // not on the stack: the first fork would copy it
  iovec part{buffer.data(), buffer.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxFds * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  ssize_t got;
  while ((got = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR) {
  }
  if (got < static_cast<ssize_t>(kPrefixBytes)) return false;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    for (std::size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= header->cmsg_len; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      order.fds.emplace_back(fd);
    }
  }
  order.bytes.assign(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

/// EAGAIN is the sandbox's limit only if that is full: else the machine has no room.
Error explain(const Sandbox& sandbox, Error error) {
  if (sandbox.init_is_dying()) return sandbox.entering_failed(ESRCH);
  if (error.cause != Cause::limit || sandbox.counters().pids_full()) return error;
  return infrastructure_error(ErrorCode::resource_exhausted, "processes", "the machine has no room for another process");
}

Result<pid_t> make_process(const Sandbox& sandbox, LightChildren& light, const session::StartRequest& request, const SpawnOrder& order,
                           const FilterKey& key) {
  if (light.can_make(request, order.mark)) return light.make(request, order.stdio, order.channel, order.cgroup, key);
  HARENA_TRY(auto child, clone_child(order.cgroup, [&] { run_command_child(sandbox, request, order.stdio, order.channel, order.mark, key); },
                                     Parent::callers, key));
  return child.pid;
}

void carry_out(const Sandbox& sandbox, LightChildren& light, ReceivedOrder& order, const Status& confined, const FilterKey& key) {
  auto mark = session::get_u64(order.bytes.data());
  auto flags = static_cast<unsigned char>(order.bytes[8]);
  UniqueFd channel = order.next();
  UniqueFd in = (flags & kHasInput) != 0 ? order.next() : UniqueFd();
  UniqueFd out = (flags & kHasOutputs) != 0 ? order.next() : UniqueFd();
  UniqueFd err = (flags & kHasOutputs) != 0 ? order.next() : UniqueFd();
  UniqueFd cgroup = (flags & kHasCgroup) != 0 ? order.next() : UniqueFd();
  UniqueFd file = (flags & kIsFile) != 0 ? order.next() : UniqueFd();
  // Nothing runs without its filter.
  if (!confined) return send_report(channel.get(), Report::error, session::encode_error(confined.error()));
  std::string text = file ? read_file(file.get()) : order.bytes.substr(kPrefixBytes);
  auto request = session::decode<session::StartRequest>(text);
  if (!request) return send_report(channel.get(), Report::error, session::encode_error(request.error()));
  const SpawnOrder asked{{in.get(), out.get(), err.get()}, channel.get(), cgroup.get(), mark};
  auto child = make_process(sandbox, light, *request, asked, key);
  fault_point(sandbox.options().run_dir, "spawner.made");
  if (!child) return send_report(channel.get(), Report::error, session::encode_error(explain(sandbox, std::move(child).error())));
  std::array<char, 8> pid;
  session::put_u64(pid.data(), static_cast<std::uint64_t>(*child));
  send_report(channel.get(), Report::born, {pid.data(), pid.size()});
}

void be_spawner(const Sandbox& sandbox, int socket) {
  if (!sandbox.die_with_shim()) return;
  auto kept = sandbox.descriptors_for_spawner();
  kept.push_back(socket);
  close_all_but(std::move(kept));
  sandbox.children_inside(true);
  sandbox.restore_process_defaults();
  auto made = FilterKey::make();
  // Outlives every order: new processes read it.
  const FilterKey key = made ? *made : FilterKey{};
  auto confined = made ? sandbox.confine_spawner(key) : Status(made.error());
  if (confined) confined = sandbox.join_shared_cgroups();
  LightChildren light(sandbox);
  for (;;) {
    ReceivedOrder order;
    if (!receive_order(socket, order)) return;
    fault_point(sandbox.options().run_dir, "spawner.order");
    carry_out(sandbox, light, order, confined, key);
  }
}

/// Room for thousands of orders: the spawner has the sandbox's share of the CPU, which may be next to nothing, and the shim, which
/// has other things to do, must not wait for it.
void make_room(int socket) {
  constexpr int kQueueBytes = 16 << 20;
  // Without the right to it as far as the machine lets everybody go.
  if (::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &kQueueBytes, sizeof kQueueBytes) == 0) return;
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &kQueueBytes, sizeof kQueueBytes);
}

}  // namespace

Spawner::~Spawner() {
  socket_.reset();
  if (process_.pid <= 0) return;
  // By descriptor: the reaper may have waited for it already.
  ::syscall(SYS_pidfd_send_signal, process_.pidfd.get(), SIGKILL, nullptr, 0);
  ::waitpid(process_.pid, nullptr, 0);
}

Status Spawner::start() {
  HARENA_TRY(auto pair, make_report_channel());
  make_room(pair.first.get());
  sandbox_.children_inside(false);
  auto child = clone_child(-1, [&] { be_spawner(sandbox_, pair.second.get()); });
  sandbox_.children_inside(true);
  if (!child) return std::move(child).error();
  socket_ = std::move(pair.first);
  process_ = *std::move(child);
  return {};
}

void Spawner::watch(Reaper& reaper) {
  reaper_ = &reaper;
  reaper.on_death(process_.pid, [this, pid = process_.pid](const Death&) {
    if (pid == process_.pid) replace();
  });
}

void Spawner::replace() {
  process_ = {};
  socket_.reset();
  if (start()) watch(*reaper_);
}

Status Spawner::spawn(const session::StartRequest& request, const SpawnOrder& order) {
  if (!socket_ && reaper_ != nullptr) replace();
  if (!socket_) return lost();
  std::vector<int> fds = {order.channel};
  unsigned char flags = 0;
  auto add = [&](int fd, unsigned char flag) {
    if (fd < 0) return;
    fds.push_back(fd);
    flags |= flag;
  };
  add(order.stdio.in, kHasInput);
  add(order.stdio.out, kHasOutputs);
  add(order.stdio.err, kHasOutputs);
  add(order.cgroup, kHasCgroup);
  std::string body = session::encode(request);
  UniqueFd file;
  if (body.size() > kInlineBytes) {
    HARENA_TRY(file, as_file(body));
    add(file.get(), kIsFile);
    body.clear();
  }
  std::string prefix(kPrefixBytes, '\0');
  session::put_u64(prefix.data(), order.mark);
  prefix[8] = static_cast<char>(flags);
  if (send_order(socket_.get(), prefix, body, fds)) return {};
  // It has died, and nothing took the order.
  if (reaper_ != nullptr) replace();
  if (!socket_ || !send_order(socket_.get(), prefix, body, fds)) return lost();
  return {};
}

}  // namespace harena::shim
