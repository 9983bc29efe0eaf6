#pragma once
// Error codes as the Connect protocol spells them: in the bodies of unary errors and in the last envelope of streams.

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::e2b {

/// "canceled", "not_found", ...
std::string_view connect_code(ErrorCode code);
/// The status of a unary answer: canceled 499, invalid_argument 400, deadline_exceeded 504, ...
int connect_status(ErrorCode code);
/// `{"code": "not_found", "message": "..."}`; bytes that aren't UTF-8 become U+FFFD.
std::string connect_error_body(const Error& error);
/// The payload of the last envelope: `{}`, or `{"error": {...}}`.
std::string end_of_stream(const Status& status);

}  // namespace harena::e2b
