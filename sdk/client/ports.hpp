#pragma once
// A raw TCP connection to a port in a sandbox.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/client/client.hpp"

namespace harena::client {

/// Not blocking; one thread at a time; made for a poll loop on `fd`.
class Tunnel {
 public:
  /// The API's own error (`port_closed`, sandbox not running) when there is no connection.
  static Result<std::unique_ptr<Tunnel>> open(Client& client, const std::string& sandbox_id, std::uint16_t port);
  ~Tunnel();

  int fd() const;
  /// Bytes that poll doesn't know of are waiting.
  bool pending() const;
  /// 0 at the end; nullopt when nothing has arrived.
  Result<std::optional<std::size_t>> read_some(char* buffer, std::size_t size);
  /// How much was taken; 0 when it would block.
  Result<std::size_t> write_some(std::string_view bytes);
  /// Half-close: no more bytes come from this side.
  void finish_writing();

 private:
  struct State;
  explicit Tunnel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace harena::client
