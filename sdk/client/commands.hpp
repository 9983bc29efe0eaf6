#pragma once
// Commands in a sandbox: start one, follow what it prints, feed it, end it.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sdk/client/client.hpp"

namespace harena::client {

struct PtySize {
  int rows = 24;
  int cols = 80;
};

struct CommandRequest {
  /// Exactly as the program gets them; or `shell`, a text for /bin/sh.
  std::vector<std::string> argv;
  std::optional<std::string> shell;
  std::vector<std::pair<std::string, std::string>> env;
  std::string cwd;
  std::string user;
  bool stdin_pipe = false;
  std::optional<PtySize> pty;
  std::int64_t timeout_ms = 0;  // 0: none
  bool trusted_tools = false;   // the platform's own shell and tools
  std::string on_disconnect;    // "keep" (the server's default) or "kill"
  /// Made when empty, so that a lost reply never starts it twice.
  std::string op;
};

struct ExitStatus {
  std::optional<int> code;
  std::string signal;  // "KILL", without SIG
  std::string cause;   // exit, signal, timeout, oom, ...
  json raw;

  static ExitStatus from_json(const json& body);
};

struct OutputEvent {
  enum class Stream { out, err };
  Stream stream = Stream::out;
  std::string data;
  /// The output limit was reached here: nothing of this stream comes any more.
  bool truncated = false;
};

struct OutputOffsets {
  std::int64_t out = 0;
  std::int64_t err = 0;
};

class Commands {
 public:
  Commands(Client& client, std::string sandbox_id);

  /// The command, as in the API. `invalid_argument` when an argument isn't UTF-8: JSON can't carry it.
  Result<json> start(CommandRequest request);
  Result<json> list();
  Result<json> get(const std::string& id);

  /// Hands over output from `offsets` on until the command has ended. A lost connection is taken up again where it
  /// broke: no byte is lost, none comes twice; a gap is `data_loss`. `on_output` fails to stop.
  Result<ExitStatus> follow(const std::string& id, OutputOffsets offsets,
                            const std::function<Status(const OutputEvent&)>& on_output);
  /// What there is until now; nullopt when the command still runs.
  Result<std::optional<ExitStatus>> dump(const std::string& id, const std::function<Status(const OutputEvent&)>& on_output);

  /// `data` begins at byte `offset` of the command's stdin. Returns the bytes taken since its start. Blocks while the
  /// command doesn't read. Repeating it after a failure doesn't double anything.
  Result<std::int64_t> write_stdin(const std::string& id, std::string_view data, std::int64_t offset, bool eof);
  Status signal(const std::string& id, const std::string& name, const std::string& target);
  /// Kills all that it started and drops its output.
  Status forget(const std::string& id);

  /// "/sandboxes/ID/commands/CID"
  std::string path_of(const std::string& id) const { return path_ + "/" + segment(id); }

 private:
  Result<std::optional<ExitStatus>> read_once(const std::string& id, OutputOffsets& offsets, bool follow,
                                              const std::function<Status(const OutputEvent&)>& on_output);
  Client& client_;
  std::string path_;
};

}  // namespace harena::client
