#include "shim/server.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "shim/fault.hpp"

namespace harena::shim {
namespace {

constexpr std::int64_t kEndLingerMs = 1'000;
constexpr std::int64_t kEndStepMs = 10;
constexpr std::int64_t kAcceptRestMs = 50;

std::uint32_t count_descriptors() {
  std::uint32_t count = 0;
  if (DIR* dir = ::opendir("/proc/self/fd")) {
    while (::readdir(dir) != nullptr) ++count;
    ::closedir(dir);
    count -= 3;  // ".", ".." and the listing itself
  }
  return count;
}

Status make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "making " + path);
  return {};
}

}  // namespace

Server::Server(EventLoop& loop, Reaper& reaper, Sandbox& sandbox, Spawner& spawner)
    : loop_(loop), reaper_(reaper), sandbox_(sandbox), commands_(loop, reaper, sandbox, spawner) {}

Server::~Server() {
  connections_.clear();
  // Commands that are ending still are held there; they use what this object owns.
  reaper_.forget_all();
  loop_.forget_all();
  loop_.cancel(grace_timer_);
  loop_.forget(listen_watch_);
  loop_.forget(signal_watch_);
}

Status Server::make_folders() const {
  HARENA_TRY_STATUS(make_folder(sandbox_.options().run_dir));
  return make_folder(sandbox_.options().run_dir + "/commands");
}

Status Server::listen() {
  if (sandbox_.options().listen_fd >= 0) {
    listener_ = UniqueFd(sandbox_.options().listen_fd);
    ::fcntl(listener_.get(), F_SETFD, FD_CLOEXEC);
    ::fcntl(listener_.get(), F_SETFL, O_RDWR | O_NONBLOCK);
    return {};
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string path = sandbox_.options().run_dir + "/session.sock";
  if (path.size() >= sizeof address.sun_path) {
    return make_error(ErrorCode::invalid_argument, "--run-dir is too long: '" + path + "' has over 107 bytes, the most that a Unix socket's path may have");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  listener_ = UniqueFd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ::unlink(path.c_str());
  if (!listener_ || ::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::chmod(path.c_str(), 0600) != 0 || ::listen(listener_.get(), 1024) != 0) {
    return errno_error(errno, "listening on " + path);
  }
  return {};
}

void Server::watch_signals() {
  sigset_t mask;
  ::sigemptyset(&mask);
  ::sigaddset(&mask, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &mask, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  signal_watch_ = loop_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) {
    loop_.forget(signal_watch_);
    shutdown(0);
  });
}

Status Server::open() {
  HARENA_TRY_STATUS(make_folders());
  HARENA_TRY_STATUS(listen());
  watch_signals();
  started_ms_ = loop_.clock().wall_ms();
  oom_at_start_ = sandbox_.counters().oom_kills();
  listen_watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
  if (sandbox_.has_namespaces()) {
    reaper_.on_death(sandbox_.options().init_pid, [this](const Death& death) { on_init_death(death); });
  }
  if (sandbox_.options().ready_fd >= 0) {
    UniqueFd ready(sandbox_.options().ready_fd);
    // A starter that died meanwhile hasn't noted this process anywhere: it must not stay.
    if (::write(ready.get(), "R", 1) < 0 && errno == EPIPE) {
      return make_error(ErrorCode::unavailable, "whoever started this shim has ended before it was ready");
    }
  }
  return {};
}

void Server::accept_one() {
  UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return rest_from_accepting();
  ucred peer{};
  socklen_t size = sizeof peer;
  if (!socket || ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 || peer.uid != ::getuid()) return;
  fault_point(sandbox_.options().run_dir, "accept");
  auto connection = std::make_unique<Connection>(*this, loop_, std::move(socket));
  auto* key = connection.get();
  connections_.emplace(key, std::move(connection));
}

void Server::rest_from_accepting() {
  // Who waits stays readable: without a pause this would be a busy loop until somebody closes something.
  loop_.forget(listen_watch_);
  accept_timer_ = loop_.after_ms(kAcceptRestMs, [this] {
    listen_watch_ = loop_.watch(listener_.get(), EPOLLIN, [this](std::uint32_t) { accept_one(); });
  });
}

void Server::drop(Connection& connection) { connections_.erase(&connection); }

session::Stats Server::stats() const {
  session::Stats stats;
  commands_.fill(stats);
  stats.connections = static_cast<std::uint32_t>(connections_.size());
  stats.descriptors = count_descriptors();
  return stats;
}

void Server::shutdown(std::int64_t grace_ms) {
  // After its death the init's pid may be another's.
  if (ending_ || (std::exchange(stopping_, true) && grace_ms > 0)) return;
  commands_.sandbox_is_ending();
  if (grace_ms > 0) {
    commands_.signal_all(SIGTERM);
    if (sandbox_.has_namespaces()) ::kill(sandbox_.options().init_pid, SIGTERM);
  }
  loop_.cancel(grace_timer_);
  grace_timer_ = loop_.after_ms(grace_ms, [this] { kill_everything(); });
}

void Server::kill_everything() {
  fault_point(sandbox_.options().run_dir, "stop");
  commands_.kill_all(session::ExitCause::sandbox_stopped);
  if (sandbox_.has_namespaces()) {
    // The kernel ends everything else in its pid namespace with it.
    ::kill(sandbox_.options().init_pid, SIGKILL);
    return;
  }
  end_soon("stop", 0);
}

void Server::on_init_death(const Death& death) {
  loop_.cancel(grace_timer_);
  std::string cause = stopping_ ? "stop" : WIFSIGNALED(death.status) ? "signal" : "exit";
  if (!stopping_ && WIFSIGNALED(death.status) && sandbox_.counters().oom_kills() > oom_at_start_) cause = "oom";
  commands_.kill_all(session::ExitCause::sandbox_stopped);
  end_soon(cause, death.status);
}

void Server::end_soon(std::string cause, int init_status) {
  if (std::exchange(ending_, true)) return;
  loop_.forget(listen_watch_);
  loop_.cancel(accept_timer_);
  std::int64_t until = loop_.clock().monotonic_ns() + kEndLingerMs * 1'000'000;
  write_record(cause, init_status);
  auto step = std::make_shared<std::function<void()>>();
  *step = [this, until, weak = std::weak_ptr<std::function<void()>>(step)] {
    bool queued = commands_.running() > 0;
    for (const auto& [key, connection] : connections_) queued = queued || connection->queued() > 0;
    if (!queued || loop_.clock().monotonic_ns() >= until) return loop_.stop();
    if (auto self = weak.lock()) loop_.after_ms(kEndStepMs, [self] { (*self)(); });
  };
  // The first look at once: most have nobody to tell, and a stop waits for this process.
  loop_.after_ms(0, [step] { (*step)(); });
}

void Server::write_record(const std::string& cause, int init_status) const {
  bool signalled = WIFSIGNALED(init_status);
  std::string json = "{\"version\":1,\"sandbox\":\"" + sandbox_.options().sandbox + "\",\"cause\":\"" + cause +
                     "\",\"exit_code\":" + std::to_string(signalled ? -1 : WEXITSTATUS(init_status)) +
                     ",\"signal\":" + std::to_string(signalled ? WTERMSIG(init_status) : 0) +
                     ",\"started_ms\":" + std::to_string(started_ms_) + ",\"ended_ms\":" +
                     std::to_string(loop_.clock().wall_ms()) + ",\"oom_kills\":" +
                     std::to_string(sandbox_.counters().oom_kills() - oom_at_start_) + "}\n";
  std::string path = sandbox_.options().run_dir + "/exit.json";
  std::string temporary = path + ".new";
  UniqueFd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), json.data(), json.size()) != static_cast<ssize_t>(json.size())) return;
  ::rename(temporary.c_str(), path.c_str());
}

}  // namespace harena::shim
