#pragma once
// The plugin's way to a machine: a SOCK_SEQPACKET socket in the run folder. One packet is a request, one packet its answer, both JSON; then
// the connection ends. Requests are served one after the other, in the order in which they came; a caller that goes away doesn't end the
// verb that it asked for if that has begun, and takes one back that waits for its turn.
//
//   {"verb": "snapshot", "folder": "..."}   ->   {"ok": {...}}  or  {"error": {"code", "message", "cause", "cause_detail", "retry"}}

#include <deque>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "sdk/vmm/event_loop.hpp"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::vmm {

using nlohmann::json;

inline constexpr std::size_t kMaxControlBytes = 64 << 10;
/// Connections that wait; more are refused by closing.
inline constexpr std::size_t kMaxControlConnections = 64;

class ControlServer {
 public:
  /// Listens at `path` (mode 0600, peers of this user only).
  static Result<std::unique_ptr<ControlServer>> listen(EventLoop& loop, const std::string& path);
  ~ControlServer();

  /// A request is there. (For EventLoop::run_until.)
  bool waiting() const { return !requests_.empty(); }
  /// Takes the oldest request, answers with what `verb` returns; nothing if its caller has gone. Precondition: waiting().
  void serve(const std::function<Result<json>(const json& request)>& verb);

 private:
  explicit ControlServer(EventLoop& loop) : loop_(loop) {}
  struct Request {
    UniqueFd peer;
    std::string text;
  };
  void accept();
  void on_packet(int fd);

  EventLoop& loop_;
  UniqueFd listener_;
  std::map<int, UniqueFd> peers_;
  std::deque<Request> requests_;
};

/// The two sides' form of an error.
json control_error(const Error& error);
Error error_of_control(const json& document);

}  // namespace harena::vmm
