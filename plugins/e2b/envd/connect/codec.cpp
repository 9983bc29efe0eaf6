#include "plugins/e2b/envd/connect/codec.hpp"

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>

#include "sdk/base/text.hpp"
#include "sdk/http/headers.hpp"

namespace harena::e2b {

namespace pb = google::protobuf;

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

Status decode_json(std::string_view bytes, pb::Message& message) {
  message.Clear();
  if (bytes.empty()) return {};
  if (!is_utf8(bytes)) return make_error(ErrorCode::invalid_argument, "the body isn't UTF-8, which JSON has to be");
  pb::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = pb::util::JsonStringToMessage({bytes.data(), bytes.size()}, &message, options);
  if (parsed.ok()) return {};
  return make_error(ErrorCode::invalid_argument,
                    "the body isn't JSON of " + message.GetTypeName() + ": " + std::string(parsed.message()));
}

}  // namespace

std::optional<ContentKind> content_kind(std::string_view content_type) {
  const auto type = trimmed(content_type.substr(0, content_type.find(';')));
  for (const auto codec : {Codec::json, Codec::proto}) {
    for (const bool streaming : {false, true}) {
      const ContentKind kind{codec, streaming};
      if (http::iequals(type, e2b::content_type(kind))) return kind;
    }
  }
  return std::nullopt;
}

std::string content_type(ContentKind kind) {
  std::string text = kind.streaming ? "application/connect+" : "application/";
  return text + (kind.codec == Codec::json ? "json" : "proto");
}

Status decode_message(Codec codec, std::string_view bytes, pb::Message& message) {
  if (codec == Codec::json) return decode_json(bytes, message);
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return {};
  return make_error(ErrorCode::invalid_argument, "the body isn't a protobuf " + message.GetTypeName());
}

Result<std::string> encode_message(Codec codec, const pb::Message& message) {
  std::string out;
  if (codec == Codec::proto) {
    if (!message.SerializeToString(&out)) return make_error(ErrorCode::internal, "a message that protobuf can't write");
    return out;
  }
  const auto written = pb::util::MessageToJsonString(message, &out);
  if (!written.ok()) return make_error(ErrorCode::internal, "a message that JSON can't hold: " + std::string(written.message()));
  return out;
}

}  // namespace harena::e2b
