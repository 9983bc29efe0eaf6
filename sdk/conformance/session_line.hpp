#pragma once
// A session endpoint, spoken to with nothing but a socket and the frames (docs/session-protocol.md): what level 3 needs of it.

#include <string>
#include <vector>

#include "sdk/base/unique_fd.hpp"
#include "sdk/session/command_messages.hpp"
#include "sdk/session/file_messages.hpp"
#include "sdk/session/frame.hpp"

namespace harena::conformance {

struct LineResult {
  std::string output;  // of stdout
  session::ExitStatus exit;
};

/// One connection; blocks, each wait at most 120 s. Not thread-safe.
class SessionLine {
 public:
  static Result<SessionLine> connect(const std::string& endpoint);

  Status write_file(const std::string& path, unsigned mode, std::string_view content);
  Result<LineResult> run(std::vector<std::string> argv);

 private:
  struct Frame {
    session::FrameType type;
    std::string payload;
  };
  explicit SessionLine(UniqueFd socket) : socket_(std::move(socket)) {}
  Status send(session::FrameType type, std::string_view payload);
  Status receive_bytes(char* buffer, std::size_t size);
  Result<Frame> receive();
  /// The next frame if it is of this type; an `error` frame as its error.
  Result<Frame> expect(session::FrameType type);

  UniqueFd socket_;
};

}  // namespace harena::conformance
