#include "sdk/support/exit_watcher.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/base/signal_mask.hpp"

namespace harena {

ExitWatcher::ExitWatcher(OnExit on_exit)
    : on_exit_(std::move(on_exit)), epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
  epoll_event event{EPOLLIN, {.u64 = 0}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, stop_.get(), &event);
  thread_ = std::thread([this] { run(); });
}

ExitWatcher::~ExitWatcher() {
  const std::uint64_t one = 1;
  (void)!::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

Status ExitWatcher::watch(const std::string& sandbox_id, UniqueFd pidfd) {
  std::lock_guard lock(mutex_);
  const std::uint64_t key = next_++;
  epoll_event event{EPOLLIN | EPOLLONESHOT, {.u64 = key}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd.get(), &event) != 0) return errno_error(errno, "watch the process of a sandbox");
  watched_.emplace(key, std::pair(sandbox_id, std::move(pidfd)));
  return {};
}

void ExitWatcher::forget(const std::string& sandbox_id) {
  std::lock_guard lock(mutex_);
  // Closing the last descriptor of a pidfd takes it out of the epoll set.
  std::erase_if(watched_, [&](const auto& item) { return item.second.first == sandbox_id; });
}

void ExitWatcher::run() {
  block_all_signals();
  while (true) {
    epoll_event event{};
    const int ready = ::epoll_wait(epoll_.get(), &event, 1, -1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0 || event.data.u64 == 0) return;
    std::string id;
    {
      std::lock_guard lock(mutex_);
      auto found = watched_.find(event.data.u64);
      if (found == watched_.end()) continue;
      id = found->second.first;
      watched_.erase(found);
    }
    on_exit_(id);
  }
}

}  // namespace harena
