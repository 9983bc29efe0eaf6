#pragma once
// The session socket, its connections, and the sandbox's life from ready to the record of its end.

#include <memory>
#include <string>
#include <unordered_map>

#include "sdk/session/hello.hpp"
#include "shim/command_table.hpp"
#include "shim/connection.hpp"

namespace harena::shim {

class Server {
 public:
  Server(EventLoop& loop, Reaper& reaper, Sandbox& sandbox, Spawner& spawner);
  ~Server();

  /// Listens on the inherited descriptor or DIR/session.sock, watches the init, says ready.
  Status open();

  /// Starts the operation of a request frame; false for a type that isn't one.
  bool begin(Connection& connection, session::FrameType type, std::string_view payload);
  void drop(Connection& connection);

  CommandTable& commands() { return commands_; }
  const Sandbox& sandbox() const { return sandbox_; }
  Reaper& reaper() { return reaper_; }
  session::Stats stats() const;
  /// SIGTERM to all, SIGKILL after the grace, then the end. The first call counts.
  void shutdown(std::int64_t grace_ms);

 private:
  Status make_folders() const;
  Status listen();
  void watch_signals();
  void accept_one();
  void rest_from_accepting();
  void on_init_death(const Death& death);
  void kill_everything();
  /// Commands are ending: until they have, or a second has passed, readers are served.
  void end_soon(std::string cause, int init_status);
  void write_record(const std::string& cause, int init_status) const;

  EventLoop& loop_;
  Reaper& reaper_;
  Sandbox& sandbox_;
  CommandTable commands_;
  UniqueFd listener_;
  UniqueFd signals_;
  EventLoop::Id listen_watch_ = 0, signal_watch_ = 0, grace_timer_ = 0, accept_timer_ = 0;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  bool stopping_ = false;
  bool ending_ = false;
  std::uint64_t oom_at_start_ = 0;
  std::int64_t started_ms_ = 0;
};

}  // namespace harena::shim
