#pragma once
// A terminal on a running command: the attach WebSocket of docs/http-api.md.

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/client/commands.hpp"

namespace harena::client {

/// One thread at a time. Made for a poll loop: wait for `fd`, but first take what `pending` says is there already.
class Attachment {
 public:
  struct Message {
    std::string output;              // bytes for the terminal
    std::optional<ExitStatus> exit;  // the last message
  };

  /// Connects; output comes from `offset` on.
  static Result<std::unique_ptr<Attachment>> open(Client& client, const Commands& commands, const std::string& command_id,
                                                  std::int64_t offset);
  /// The serial console of a machine: what it wrote last comes first. Messages are bytes alone; send_resize and send_eof are not for it.
  static Result<std::unique_ptr<Attachment>> open_console(Client& client, const std::string& sandbox_id);
  ~Attachment();

  int fd() const;
  bool pending() const;
  /// Blocks for one message; nullopt for one of no interest (a ping, which it answers). An Error of kConnectionLost when
  /// the connection broke: the command runs on, attach again from the bytes received.
  Result<std::optional<Message>> receive();
  Status send_input(std::string_view bytes);
  Status send_resize(PtySize size);
  Status send_eof();

 private:
  struct State;
  explicit Attachment(std::unique_ptr<State> state);
  /// The WebSocket at `path` with `query`; what a GET of `asked_instead` says when it is refused.
  static Result<std::unique_ptr<Attachment>> connect(Client& client, const std::string& target, const std::string& asked_instead);
  Status send_text(const json& message);
  std::unique_ptr<State> state_;
};

}  // namespace harena::client
