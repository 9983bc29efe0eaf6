#pragma once
// Carries this program's stdin to a remote command's, in a thread of its own.

#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/client/commands.hpp"

namespace harena::cli {

/// Runs until stdin ends (then the command's stdin is closed), the command stops reading, or it is destroyed.
class StdinPump {
 public:
  static Result<std::unique_ptr<StdinPump>> start(const client::Client& client, const std::string& sandbox_id,
                                                  std::string command_id);
  /// Stops it, also in the middle of a read or a write.
  ~StdinPump();
  /// After which `error` says what went wrong, if anything did.
  void stop();
  const std::optional<Error>& error() const { return error_; }

 private:
  StdinPump(std::unique_ptr<client::Client> client, const std::string& sandbox_id, std::string command_id, UniqueFd wakeup);
  void run();
  Status carry();
  bool wait_for_input();

  std::unique_ptr<client::Client> client_;
  client::Commands commands_;
  std::string command_id_;
  UniqueFd wakeup_;
  std::optional<Error> error_;
  std::thread thread_;
};

}  // namespace harena::cli
