#pragma once
// gzip (RFC 1952) in pieces, by zlib.

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::e2b {

/// Uncompresses; members that follow each other are one text. Each call gives at most `max_out` bytes, so that a bomb
/// fills nothing: ask again with the rest of the input.
class GzipReader {
 public:
  GzipReader();
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  /// Appends to `out`, takes what it used off the front of `input`. invalid_argument for what isn't gzip.
  Status step(std::string_view& input, std::string& out, std::size_t max_out);
  /// The last member is complete: an input may end here.
  bool finished() const { return finished_; }

 private:
  struct State;
  std::unique_ptr<State> state_;
  bool finished_ = false;
};

class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  /// Appends what comes out; nothing comes after `last`.
  Status step(std::string_view input, std::string& out, bool last);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Result<std::string> gzip(std::string_view bytes);
/// resource_exhausted when it would be longer than `max_bytes`; invalid_argument for what isn't whole gzip.
Result<std::string> gunzip(std::string_view bytes, std::size_t max_bytes);

}  // namespace harena::e2b
