#pragma once
// Messages as bytes, in the two codecs of the Connect protocol, and what a content type says about a request.

#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace google::protobuf {
class Message;
}

namespace harena::e2b {

enum class Codec { json, proto };

struct ContentKind {
  Codec codec = Codec::json;
  bool streaming = false;
  bool operator==(const ContentKind&) const = default;
};

/// "application/json", "application/connect+proto; charset=utf-8", ...; nullopt for what is neither.
std::optional<ContentKind> content_kind(std::string_view content_type);
/// Without parameters: a client compares it as text.
std::string content_type(ContentKind kind);

/// Replaces `message`. Unknown fields are skipped, an empty text is the empty message; names in camel or snake case.
/// invalid_argument says what isn't right.
Status decode_message(Codec codec, std::string_view bytes, google::protobuf::Message& message);
/// JSON as proto3 says: camel case, 64 bit numbers as text, bytes as base64, what is empty left out.
Result<std::string> encode_message(Codec codec, const google::protobuf::Message& message);

}  // namespace harena::e2b
