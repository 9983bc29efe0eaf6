#pragma once
// What a command prints, as the streamed answer of a request: JSON lines, or binary frames with `Accept: application/vnd.harena.frames`
// (docs/session-protocol.md).

#include <nlohmann/json.hpp>

#include <optional>

#include "sdk/http/request.hpp"
#include "sdk/http/response_writer.hpp"
#include "sdk/session/client/session_client.hpp"

namespace harena {

struct OutputWish {
  /// Told first: the command was started by this request.
  std::optional<session::Started> started;
  /// More may come behind the exit.
  bool background = false;
};

/// Until the end of `output`. A sign of life every 15 s; an error in the middle is the stream's last piece.
http::Task<Status> answer_output(const http::Request& request, http::ResponseWriter& response, session::OutputReader& output, OutputWish wish);
/// An exit or a truncation as a line shows it; {} for output.
nlohmann::json event_json(const session::OutputEvent& event);

}  // namespace harena
