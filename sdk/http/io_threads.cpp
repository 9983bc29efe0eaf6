#include "sdk/http/io_threads.hpp"

#include <algorithm>

#include "sdk/base/signal_mask.hpp"

namespace harena::http {

IoThreads::IoThreads(std::size_t threads) {
  for (std::size_t i = 0; i < std::max<std::size_t>(threads, 1); ++i) {
    loops_.push_back(std::make_unique<boost::asio::io_context>(1));
    guards_.push_back(boost::asio::make_work_guard(*loops_.back()));
  }
  for (auto& loop : loops_) {
    threads_.emplace_back([context = loop.get()] {
      block_all_signals();
      context->run();
    });
  }
}

IoThreads::~IoThreads() { stop(); }

bool IoThreads::inside() const {
  const auto self = std::this_thread::get_id();
  return std::any_of(threads_.begin(), threads_.end(), [&](auto& thread) { return thread.get_id() == self; });
}

void IoThreads::stop() {
  guards_.clear();
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

}  // namespace harena::http
