// What a command prints as a stream of JSON lines or binary frames.
#include "core/api/session/output_stream.hpp"

#include "core/api/session/live_answer.hpp"
#include "core/api/session/session_json.hpp"
#include "core/api/session/text_parts.hpp"
#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/ndjson.hpp"
#include "sdk/session/frame.hpp"

namespace harena {

using http::Request;
using http::ResponseWriter;
using http::Task;
using nlohmann::json;
using session::OutputEvent;

namespace {

constexpr std::string_view kFramesType = "application/vnd.harena.frames";

const char* stream_name(session::Stream stream) { return stream == session::Stream::out ? "stdout" : "stderr"; }

/// By hand: this is the line that comes by the hundred megabytes.
std::string output_line(const OutputEvent& event) {
  const bool text = is_utf8(event.bytes);
  std::string line;
  line.reserve(event.bytes.size() + event.bytes.size() / 2 + 64);
  line += std::string("{\"stream\":\"") + stream_name(event.stream) + "\",\"offset\":" + std::to_string(event.offset);
  line += text ? ",\"data\":\"" : ",\"data_b64\":\"";
  if (text) append_json_text(line, event.bytes);
  if (!text) line += base64_encode(event.bytes);
  return line += "\"}\n";
}

std::string event_line(const OutputEvent& event) {
  return event.kind == OutputEvent::Kind::output ? output_line(event) : http::ndjson_line(event_json(event));
}

/// Kinds of binary frames: u8 kind, 3 zero bytes, u32 length, u64 offset (little endian), then the bytes.
enum class FrameKind : unsigned char { keep_alive = 0, out = 1, err = 2, truncated = 3, exit = 4, error = 5, started = 6 };

std::string binary_frame(FrameKind kind, std::uint64_t offset, std::string_view bytes) {
  std::string frame(16, '\0');
  frame[0] = static_cast<char>(kind);
  // The upper half of this u64 is the length.
  session::put_u64(frame.data(), static_cast<std::uint64_t>(kind) | static_cast<std::uint64_t>(bytes.size()) << 32);
  session::put_u64(frame.data() + 8, offset);
  frame.append(bytes);
  return frame;
}

std::string event_frame(const OutputEvent& event) {
  bool is_out = event.stream == session::Stream::out;
  switch (event.kind) {
    case OutputEvent::Kind::output: return binary_frame(is_out ? FrameKind::out : FrameKind::err, event.offset, event.bytes);
    case OutputEvent::Kind::truncated: return binary_frame(FrameKind::truncated, event.offset, stream_name(event.stream));
    default: return binary_frame(FrameKind::exit, 0, to_json(event.exit).dump());
  }
}

std::string event_bytes(const OutputEvent& event, bool binary) { return binary ? event_frame(event) : event_line(event); }

std::string error_bytes(const Error& error, bool binary) {
  const auto document = http::error_document(error);
  if (!binary) return http::ndjson_line(document);
  return binary_frame(FrameKind::error, 0, document.dump(-1, ' ', false, json::error_handler_t::replace));
}

std::string started_bytes(const session::Started& started, bool binary) {
  const json what = {{"id", started.command}, {"pid", started.pid}, {"existing", started.existing}};
  return binary ? binary_frame(FrameKind::started, 0, what.dump()) : http::ndjson_line({{"started", what}});
}

Task<Status> copy_events(LiveAnswer& answer, session::OutputReader& output, bool binary, bool background) {
  std::string last;  // the exit goes out along with the end of the answer, which follows it
  for (;;) {
    auto event = co_await output.next();
    if (event && event->kind == OutputEvent::Kind::end) break;
    std::string bytes = std::exchange(last, {});
    bytes += event ? event_bytes(*event, binary) : error_bytes(event.error(), binary);
    const bool ends = !event || (event->kind == OutputEvent::Kind::exit && !background);
    if (ends) last = std::move(bytes);
    if (!event) break;
    if (ends) continue;
    // While a slow reader takes this, one copy is enough.
    std::string().swap(event->bytes);
    HARENA_CO_TRY_STATUS(co_await answer.write(std::move(bytes)));
  }
  answer.end_with(std::move(last));
  co_return ok_status();
}

http::Headers output_headers(bool binary) {
  http::Headers headers;
  headers.set("Content-Type", std::string(binary ? kFramesType : http::kNdjsonType));
  headers.set("Cache-Control", "no-store");
  return headers;
}

}  // namespace

json event_json(const OutputEvent& event) {
  json line = json::object();
  if (event.kind == OutputEvent::Kind::exit) line["exit"] = to_json(event.exit);
  if (event.kind == OutputEvent::Kind::truncated) line["truncated"] = stream_name(event.stream);
  return line;
}

Task<Status> answer_output(const Request& request, ResponseWriter& response, session::OutputReader& output, OutputWish wish) {
  const bool binary = request.header("Accept").value_or("").find(kFramesType) != std::string_view::npos;
  response.set_last_words(error_bytes(http::stopping_error(), binary));
  const std::string first = wish.started ? started_bytes(*wish.started, binary) : std::string();
  HARENA_CO_TRY_STATUS(co_await response.begin_with(200, output_headers(binary), std::nullopt, std::as_bytes(std::span(first))));
  const std::string sign = binary ? binary_frame(FrameKind::keep_alive, 0, {}) : "{}\n";
  LiveAnswer answer(response, SignsOfLife{.sign = sign});
  co_return co_await answer.run(copy_events(answer, output, binary, wish.background));
}

}  // namespace harena
