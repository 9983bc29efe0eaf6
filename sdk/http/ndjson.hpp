#pragma once
// Answers as lines of JSON (application/x-ndjson).
//
//   HARENA_CO_TRY_STATUS(co_await begin_ndjson(response));
//   const auto line = ndjson_line(progress);
//   HARENA_CO_TRY_STATUS(co_await response.write(line));
//   co_return co_await response.finish();

#include <nlohmann/json_fwd.hpp>

#include <string>

#include "sdk/http/response_writer.hpp"

namespace harena::http {

inline constexpr const char* kNdjsonType = "application/x-ndjson";

/// 200 with the head of such an answer; nothing on its way keeps it. Errors: those of ResponseWriter::begin().
Task<Status> begin_ndjson(ResponseWriter& response);

/// One line with its end. Bytes that aren't UTF-8 become U+FFFD.
std::string ndjson_line(const nlohmann::json& value);

}  // namespace harena::http
