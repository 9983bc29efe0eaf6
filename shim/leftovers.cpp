#include "shim/leftovers.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <cerrno>

#include "shim/spawn.hpp"

namespace harena::shim {

Status announce_leftover(int line, int folder, const std::string& name) {
  if (line < 0) return {};
  std::string message(1, static_cast<char>(Report::leftover));
  message += name;
  if (send_with_fd(line, message, folder)) return {};
  // Its end is closed a moment before it is no longer this process's parent.
  if (errno == EPIPE || errno == ECONNRESET) return shim_has_died();
  return errno_error(errno, "telling the shim of an upload");
}

Result<std::shared_ptr<Leftovers>> Leftovers::create(EventLoop& loop) {
  HARENA_TRY(auto ends, make_report_channel());
  std::shared_ptr<Leftovers> made(new Leftovers(loop));
  made->line_ = std::move(ends.first);
  made->worker_side_ = std::move(ends.second);
  // Read as it comes, so that a worker with thousands of files never waits for room.
  made->watch_ = loop.watch(made->line_.get(), EPOLLIN, [raw = made.get()](std::uint32_t) { raw->take(); });
  return made;
}

Leftovers::~Leftovers() { loop_.forget(watch_); }

void Leftovers::take() {
  for (;;) {
    auto report = receive_report(line_.get());
    if (report.kind == Report::again) return;
    if (report.kind == Report::closed) return loop_.forget(watch_);
    if (report.kind != Report::leftover) continue;
    folder_ = std::move(report.fd);
    name_ = std::move(report.body);
  }
}

void Leftovers::remove(const Sandbox& sandbox, Reaper& reaper) {
  take();
  if (!folder_) return;
  // Not in a cgroup of the sandbox, whose limits may be what killed the worker.
  sandbox.children_inside(false);
  auto cleaner = clone_child(-1, [this] {
    (void)::unlinkat(folder_.get(), name_.c_str(), 0);
    ::_exit(0);
  });
  sandbox.children_inside(true);
  if (cleaner) reaper.on_death(cleaner->pid, [](const Death&) {});
  folder_.reset();
}

}  // namespace harena::shim
