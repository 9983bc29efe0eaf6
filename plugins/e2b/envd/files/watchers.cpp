#include "plugins/e2b/envd/files/watchers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>

#include <exception>
#include <utility>

namespace harena::e2b {

namespace asio = boost::asio;
using filesystem::FilesystemEvent;
using http::Task;

namespace {

constexpr std::size_t kIdBytes = 8;

Error no_watcher(const std::string& id) { return make_error(ErrorCode::not_found, "watcher with id " + id + " not found"); }

}  // namespace

struct Watchers::Watcher {
  std::string sandbox;
  std::int64_t asked_ms = 0;
  std::unique_ptr<FolderWatch> watch;
  asio::any_io_executor executor;
  /// Used on the executor alone.
  asio::cancellation_signal cancel;

  std::mutex mutex;
  std::vector<FilesystemEvent> events;
  Status outcome;
  bool ended = false;

  void keep(std::vector<FilesystemEvent> more) {
    const std::lock_guard lock(mutex);
    if (events.size() + more.size() > kMaxEvents) {
      outcome = make_error(ErrorCode::data_loss, "over 65536 events since the last call: list the folder anew");
      return;
    }
    for (auto& event : more) events.push_back(std::move(event));
  }
  void end(Status status) {
    const std::lock_guard lock(mutex);
    ended = true;
    if (outcome.ok()) outcome = std::move(status);
  }
};

Task<void> Watchers::pump(std::shared_ptr<Watcher> watcher) {
  for (;;) {
    auto events = co_await watcher->watch->next();
    if (!events) {
      watcher->end(std::move(events).error());
      co_return;
    }
    if (events->empty()) break;
    watcher->keep(std::move(*events));
  }
  watcher->end(ok_status());
}

void Watchers::drop_forgotten() {
  const auto now = clock_.wall_ms();
  for (auto it = watchers_.begin(); it != watchers_.end();) {
    auto watcher = it->second;
    if (watcher->asked_ms + kForgottenMs > now) {
      ++it;
      continue;
    }
    asio::post(watcher->executor, [watcher] { watcher->cancel.emit(asio::cancellation_type::all); });
    it = watchers_.erase(it);
  }
}

Task<Result<std::string>> Watchers::add(std::string sandbox, std::unique_ptr<FolderWatch> watch) {
  auto watcher = std::make_shared<Watcher>();
  watcher->sandbox = std::move(sandbox);
  watcher->asked_ms = clock_.wall_ms();
  watcher->watch = std::move(watch);
  watcher->executor = co_await asio::this_coro::executor;
  auto id = "w" + random_.hex(kIdBytes);
  {
    const std::lock_guard lock(mutex_);
    drop_forgotten();
    if (watchers_.size() >= kMaxWatchers) co_return make_error(ErrorCode::resource_exhausted, "4096 watchers are open; remove some");
    watchers_[id] = watcher;
  }
  auto ended = [watcher](std::exception_ptr failure) {
    if (failure) watcher->end(make_error(ErrorCode::cancelled, "the watcher was removed"));
  };
  asio::co_spawn(watcher->executor, pump(watcher), asio::bind_cancellation_slot(watcher->cancel.slot(), std::move(ended)));
  co_return id;
}

Result<std::vector<FilesystemEvent>> Watchers::take(const std::string& sandbox, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second->sandbox != sandbox) return no_watcher(id);
  auto& watcher = *found->second;
  watcher.asked_ms = clock_.wall_ms();
  const std::lock_guard inner(watcher.mutex);
  if (watcher.events.empty() && !watcher.outcome.ok()) return std::exchange(watcher.outcome, ok_status()).error();
  return std::exchange(watcher.events, {});
}

Status Watchers::remove(const std::string& sandbox, const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = watchers_.find(id);
  if (found == watchers_.end() || found->second->sandbox != sandbox) return no_watcher(id);
  auto watcher = found->second;
  watchers_.erase(found);
  asio::post(watcher->executor, [watcher] { watcher->cancel.emit(asio::cancellation_type::all); });
  return {};
}

}  // namespace harena::e2b
