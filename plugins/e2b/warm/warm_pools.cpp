#include "plugins/e2b/warm/warm_pools.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>

namespace harena::e2b {

using http::Task;
using std::chrono::milliseconds;

namespace {

/// How often members are looked after when nothing is claimed; a third of what their lease leaves for it.
constexpr milliseconds kRoundEvery{20'000};
/// After a failure; twice as long after each further one, up to kRoundEvery.
constexpr milliseconds kFirstRetry{500};

}  // namespace

/// What outlives the pools while a coroutine may still be on its way out.
struct WarmPools::Ending {
  std::mutex mutex;
  std::condition_variable ended;
  bool stopping = false;
  std::size_t running = 0;

  bool is_stopping() {
    std::lock_guard lock(mutex);
    return stopping;
  }
  void leave() {
    std::lock_guard lock(mutex);
    --running;
    ended.notify_all();
  }
};

struct WarmPools::Keeper {
  Keeper(Services& services, const Template& from) : pool(services, from) {}
  WarmPool pool;
  std::shared_ptr<boost::asio::steady_timer> timer;  ///< of the loop that it lives on
  std::string last_notice;

  void wake() const {
    if (!timer) return;
    boost::asio::post(timer->get_executor(), [timer = timer] { timer->cancel(); });
  }
};

WarmPools::WarmPools(Services& services, std::function<void(const std::string&)> notice)
    : notice_(std::move(notice)), ending_(std::make_shared<Ending>()) {
  for (const auto& one : services.settings.templates) {
    if (one.warm > 0) keepers_.emplace(one.id, std::make_unique<Keeper>(services, one));
  }
}

WarmPools::~WarmPools() = default;

void WarmPools::start(http::IoThreads& io) {
  ending_->running = keepers_.size();
  for (auto& [id, keeper] : keepers_) {
    auto& loop = io.next();
    keeper->timer = std::make_shared<boost::asio::steady_timer>(loop);
    boost::asio::co_spawn(loop, keep(*keeper, ending_), [ending = ending_](std::exception_ptr) { ending->leave(); });
  }
}

void WarmPools::stop(milliseconds limit) {
  std::unique_lock lock(ending_->mutex);
  ending_->stopping = true;
  for (const auto& [id, keeper] : keepers_) keeper->wake();
  ending_->ended.wait_for(lock, limit, [this] { return ending_->running == 0; });
}

Task<void> WarmPools::keep(Keeper& keeper, std::shared_ptr<Ending> ending) {
  const std::function<bool()> stopping = [ending] { return ending->is_stopping(); };
  milliseconds pause = kRoundEvery;
  while (!stopping()) {
    const auto done = co_await keeper.pool.round(stopping);
    pause = done.ok() ? kRoundEvery : std::min(kRoundEvery, pause == kRoundEvery ? kFirstRetry : pause * 2);
    const std::string why = done.ok() ? "" : done.error().describe();
    if (!why.empty() && why != keeper.last_notice) {
      notice_("the pool of template '" + keeper.pool.template_id() + "' can't be filled: " + why + "; it is tried again");
    }
    keeper.last_notice = why;
    if (stopping() || (done.ok() && !keeper.pool.is_full())) continue;  // a claim came while it was filled
    boost::system::error_code woken;
    keeper.timer->expires_after(pause);
    co_await keeper.timer->async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, woken));
  }
}

Task<std::optional<Record>> WarmPools::claim(const Template& from, CreateRequest request, std::string caller) {
  const auto found = keepers_.find(from.id);
  if (found == keepers_.end()) co_return std::nullopt;
  auto outcome = co_await found->second->pool.claim(std::move(request), std::move(caller));
  if (outcome) found->second->wake();
  co_return outcome;
}

}  // namespace harena::e2b
