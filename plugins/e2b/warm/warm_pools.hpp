#pragma once
// WarmPools: the pools of all templates that have one, each kept by a coroutine of its own, off the path of any request.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "plugins/e2b/warm/warm_pool.hpp"
#include "sdk/http/io_threads.hpp"

namespace harena::e2b {

/// Thread-safe but for start() and stop().
class WarmPools {
 public:
  /// `notice` hears, once for each reason, why a pool can't be filled.
  WarmPools(Services& services, std::function<void(const std::string&)> notice);
  ~WarmPools();

  /// On the loops of `io`, which must be stopped before this is destroyed.
  void start(http::IoThreads& io);
  /// Nothing more is made. Waits for what is being made, at most for `limit`; members stay for the next process.
  void stop(std::chrono::milliseconds limit);

  /// WarmPool::claim of the template's pool; nullopt when it has none.
  http::Task<std::optional<Record>> claim(const Template& from, CreateRequest request, std::string caller);

 private:
  struct Keeper;
  struct Ending;
  http::Task<void> keep(Keeper& keeper, std::shared_ptr<Ending> ending);

  std::function<void(const std::string&)> notice_;
  std::shared_ptr<Ending> ending_;
  std::map<std::string, std::unique_ptr<Keeper>> keepers_;  // by template
};

}  // namespace harena::e2b
