#pragma once
// What Harena's API says of a command, as the events and entries of E2B's process service. Pure.

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plugins/e2b/envd/proto/process.pb.h"
#include "sdk/base/result.hpp"

namespace harena::e2b {

/// `"shell: killed"` texts as Go has them: "killed" for KILL, "terminated" for TERM; "signal 34" for one without a name.
std::string signal_text(const std::string& name);

/// From the API's exit document. An end by timeout is deadline_exceeded, one by the sandbox's stop unavailable: those are the
/// stream's errors in E2B, not events. `note`: something more to be told, such as output that wasn't kept.
Result<process::ProcessEvent::EndEvent> end_event(const nlohmann::json& exit, const std::string& note);

/// A command's line of the list.
process::ProcessInfo process_info(const nlohmann::json& command);

/// The op under which a command with a tag is started: it carries the tag, so that any replica reads it back.
/// invalid_argument for a tag that is too long (80 bytes) to be carried.
Result<std::string> tagged_op(const std::string& tag, const std::string& unique);
std::optional<std::string> tag_of(const nlohmann::json& command);

/// One frame of the API's output stream (docs/session-protocol.md, "Output frames of the HTTP API").
struct OutputFrame {
  enum class Kind : std::uint8_t { alive = 0, out = 1, err = 2, truncated = 3, exit = 4, error = 5, started = 6 };
  Kind kind = Kind::alive;
  std::string payload;
};

/// Cuts bytes, added in pieces of any size, into frames.
class OutputFrames {
 public:
  static constexpr std::size_t kHeaderBytes = 16;
  void add(std::string_view bytes) { buffer_.append(bytes); }
  std::optional<OutputFrame> next();

 private:
  std::string buffer_;
};

}  // namespace harena::e2b
