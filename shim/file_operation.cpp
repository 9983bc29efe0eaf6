#include "shim/file_operation.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "shim/fault.hpp"
#include "shim/file_worker.hpp"
#include "shim/leftovers.hpp"
#include "shim/server.hpp"

namespace harena::shim {
namespace {

/// Memory of a transfer (page cache, tmpfs) is charged to the sandbox like its own.
UniqueFd file_leaf(const Sandbox& sandbox) {
  if (!sandbox.has_cgroup()) return {};
  (void)::mkdirat(sandbox.cgroup_fd(), "files", 0755);
  return UniqueFd(::openat(sandbox.cgroup_fd(), "files", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool makes_names(session::FrameType type) {
  return type == session::FrameType::file_write || type == session::FrameType::file_archive_write;
}

bool one_answer(session::FrameType type) {
  using session::FrameType;
  return type != FrameType::file_read && type != FrameType::file_archive_read && type != FrameType::file_list && type != FrameType::file_watch;
}

/// The kernel's buffer for what a worker sends: fewer turns between two processes for a transfer in bulk.
void widen(int socket) {
  constexpr int kBulkBytes = 1 << 20;
  (void)::setsockopt(socket, SOL_SOCKET, SO_SNDBUFFORCE, &kBulkBytes, sizeof kBulkBytes);
}

Error out_of_memory() {
  Error error = make_error(ErrorCode::resource_exhausted, "the sandbox's memory limit ended the file operation");
  error.cause = Cause::limit;
  error.cause_detail = "memory";
  return error;
}

void kill_worker(const Child& worker) { ::syscall(SYS_pidfd_send_signal, worker.pidfd.get(), SIGKILL, nullptr, 0); }

}  // namespace

bool begin_file_operation(Connection& connection, session::FrameType type, std::string_view payload) {
  if (type < session::FrameType::file_read || type > session::FrameType::file_archive_write) return false;
  auto operation = std::make_unique<FileOperation>(connection);
  auto* begun = operation.get();
  connection.become(std::move(operation));
  begun->begin(type, payload);
  return true;
}

FileOperation::~FileOperation() {
  *alive_ = false;
  connection_.loop().cancel(timer_);
  if (worker_) kill_worker(*worker_);
}

void FileOperation::begin(session::FrameType type, std::string_view payload) {
  if (connection_.queued() == 0) {
    if (auto status = fork_worker(type, payload); !status) connection_.fail(status.error());
    return;
  }
  // The answer to hello is still on its way out: behind it, in the same turn.
  connection_.pause();
  connection_.loop().defer([this, alive = alive_, type, copy = std::string(payload)] {
    if (*alive) begin(type, copy);
  });
}

Status FileOperation::fork_worker(session::FrameType type, std::string_view payload) {
  auto& server = connection_.server();
  const auto& sandbox = server.sandbox();
  std::shared_ptr<Leftovers> leftovers;
  if (makes_names(type)) {
    HARENA_TRY(leftovers, Leftovers::create(connection_.loop()));
  }
  answers_once_ = one_answer(type);
  oom_kills_before_ = sandbox.counters().oom_kills();
  widen(connection_.socket());
  UniqueFd leaf = file_leaf(sandbox);
  std::string rest = connection_.lend();
  sandbox.children_inside(false);
  auto child = clone_child(leaf.get(), [&] {
    WorkerLines lines{connection_.socket(), leftovers ? leftovers->worker_side() : -1};
    ::_exit(run_file_worker(sandbox, lines, rest, type, payload) ? 0 : 1);
  });
  sandbox.children_inside(true);
  if (!child) {
    connection_.take_back();
    return std::move(child).error();
  }
  if (leftovers) leftovers->close_worker_side();
  worker_ = std::make_shared<Child>(*std::move(child));
  fault_point(sandbox.options().run_dir, "file");
  server.reaper().on_death(worker_->pid, [this, alive = alive_, leftovers, &server](const Death& death) {
    // Also when the client, and with it this operation, has gone before the worker.
    if (leftovers && !WIFEXITED(death.status)) leftovers->remove(server.sandbox(), server.reaper());
    if (*alive) on_worker_death(death);
  });
  return {};
}

void FileOperation::on_worker_death(const Death& death) {
  worker_.reset();
  bool in_order = WIFEXITED(death.status) && WEXITSTATUS(death.status) == 0;
  if (in_order) return connection_.take_back();
  // One that has a single answer to give, at its end, sent it whole or not at all, so another may follow; in a stream the client sees
  // the end alone.
  bool starved = WIFSIGNALED(death.status) && connection_.server().sandbox().counters().oom_kills() > oom_kills_before_;
  if (!starved || !answers_once_) return connection_.close();
  auto& connection = connection_;
  connection.take_back();
  connection.fail_and_close(out_of_memory());
}

void FileOperation::on_writable() {
  timer_ = connection_.loop().after_ms(kAbandonedMs, [this] {
    if (worker_) kill_worker(*worker_);
  });
}

}  // namespace harena::shim
