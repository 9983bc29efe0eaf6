#pragma once
// Conditional and ranged reads of RFC 9110, as pure functions of the request's headers and the file's state.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/http/headers.hpp"
#include "sdk/session/file_messages.hpp"

namespace harena {

/// What a client may compare with.
struct FileVersion {
  /// A strong validator with its quotes; empty when the endpoint doesn't tell enough.
  std::string etag;
  std::int64_t modified_s = 0;
};

/// A file that changed in the last 20 ms gets a tag that nothing will match: two changes within one tick of the file system's
/// clock (10 ms at most) can't be told apart.
FileVersion version_of(const session::FileStat& stat);

/// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string http_date(std::int64_t unix_s);
/// The three formats of RFC 9110 5.6.7; nullopt for anything else.
std::optional<std::int64_t> parse_http_date(std::string_view text);

enum class Verdict { proceed, not_modified, failed };
/// If-Match, else If-Unmodified-Since; then If-None-Match, else If-Modified-Since (13.2.2).
Verdict judge_conditions(const http::Headers& headers, const FileVersion& version);

struct ByteRange {
  std::uint64_t first = 0;
  std::uint64_t length = 0;
  bool operator==(const ByteRange&) const = default;
};

/// nullopt: the whole file is the answer, for there is no Range, or one that a server may ignore (another unit, several parts,
/// malformed), or If-Range doesn't match (a date never does: it isn't a strong validator). out_of_range when it can't be satisfied.
Result<std::optional<ByteRange>> wanted_range(const http::Headers& headers, const FileVersion& version, std::uint64_t size);

}  // namespace harena
