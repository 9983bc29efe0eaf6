#include "sdk/session/hello.hpp"

namespace harena::session {

std::string encode_error(const Error& error) {
  ErrorMessage message;
  message.code = static_cast<std::int32_t>(error.code);
  for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) message.message += *it + ": ";
  message.message += error.message;
  message.cause = static_cast<std::uint8_t>(error.cause);
  message.cause_detail = error.cause_detail;
  message.retry = static_cast<std::uint8_t>(error.retry);
  return encode(message);
}

Error decode_error(std::string_view payload) {
  auto message = decode<ErrorMessage>(payload);
  if (!message) return make_error(ErrorCode::data_loss, "unreadable error frame: " + message.error().message);
  bool known = message->code > 0 && message->code <= static_cast<int>(ErrorCode::unauthenticated);
  Error error = make_error(known ? static_cast<ErrorCode>(message->code) : ErrorCode::unknown, message->message);
  if (message->cause <= static_cast<int>(Cause::infrastructure)) error.cause = static_cast<Cause>(message->cause);
  error.cause_detail = message->cause_detail;
  if (message->retry <= static_cast<int>(Retry::other_node)) error.retry = static_cast<Retry>(message->retry);
  return error;
}

}  // namespace harena::session
