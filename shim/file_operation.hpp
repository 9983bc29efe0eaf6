#pragma once
// File operations: each in a forked worker that has the rights of the user asked for and no others, and talks to the client
// itself on the lent socket. Its blocking I/O holds nothing up, and a transfer never passes the shim's loop.

#include "shim/connection.hpp"
#include "shim/reaper.hpp"
#include "shim/spawn.hpp"

namespace harena::shim {

/// True when `type` is a file operation; it has then begun.
bool begin_file_operation(Connection& connection, session::FrameType type, std::string_view payload);

class FileOperation : public Operation {
 public:
  /// After the client left, a worker that is stuck in the file system gets so long.
  static constexpr std::int64_t kAbandonedMs = 2'000;
  explicit FileOperation(Connection& connection) : Operation(connection) {}
  ~FileOperation() override;
  void begin(session::FrameType type, std::string_view payload);
  /// The client has left.
  void on_writable() override;

 private:
  Status fork_worker(session::FrameType type, std::string_view payload);
  void on_worker_death(const Death& death);
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  std::shared_ptr<Child> worker_;
  EventLoop::Id timer_ = 0;
  std::uint64_t oom_kills_before_ = 0;
  bool answers_once_ = false;
};

}  // namespace harena::shim
