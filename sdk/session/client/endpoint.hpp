#pragma once
// A session endpoint: how to connect, and idle connections to use again.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sdk/session/client/channel.hpp"

namespace harena::session {

class Endpoint : public std::enable_shared_from_this<Endpoint> {
 public:
  using Connect = std::function<Task<Result<std::unique_ptr<http::ByteStream>>>()>;
  static constexpr std::size_t kMaxIdle = 8;

  static std::shared_ptr<Endpoint> over_unix(std::string path);
  static std::shared_ptr<Endpoint> over(Connect connect);
  ~Endpoint();

  /// An idle connection of this executor, or a new one. Thread-safe. unavailable (infrastructure) if nobody listens.
  Task<Result<std::unique_ptr<Channel>>> acquire();
  /// A new one.
  Task<Result<std::unique_ptr<Channel>>> connect();
  /// Keeps it if it can be used again. On its own executor.
  Task<void> release(std::unique_ptr<Channel> channel);
  /// Drops idle connections: call when the sandbox has ended, on no loop while others run on it.
  void close();

 private:
  explicit Endpoint(Connect connect) : connect_(std::move(connect)) {}
  std::unique_ptr<Channel> take_idle(const void* loop);

  Connect connect_;
  std::mutex mutex_;
  /// Streams belong to an executor: one list each.
  std::map<const void*, std::vector<std::unique_ptr<Channel>>> idle_;
};

}  // namespace harena::session
