#pragma once
// multipart/form-data (RFC 7578), cut into parts as the bytes come; a part's body is never whole in memory.
//
//   MultipartParser parser(boundary);
//   parser.add(bytes);
//   HARENA_TRY(auto event, parser.next());     // need_more, begin, data, end, finished

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::e2b {

/// The `boundary` of a content type multipart/form-data; invalid_argument when it is none, or its boundary isn't 1 to 70 bytes.
Result<std::string> multipart_boundary(std::string_view content_type);

/// What a part says of itself. A file's name is kept whole, folders included: E2B's clients send paths in it.
struct PartHead {
  std::string name;
  std::optional<std::string> filename;
  std::string content_type;
  bool operator==(const PartHead&) const = default;
};
/// From the part's header lines, without the empty line behind them. invalid_argument without a Content-Disposition.
Result<PartHead> parse_part_head(std::string_view lines);

class MultipartParser {
 public:
  enum class Event { need_more, begin, data, end, finished };
  static constexpr std::size_t kMaxHeadBytes = 32 * 1024;

  explicit MultipartParser(std::string_view boundary);
  void add(std::string_view bytes);
  /// After `begin`: head(); after `data`: data(), until the next call. invalid_argument for what isn't multipart;
  /// after `finished` everything that comes is ignored.
  Result<Event> next();
  const PartHead& head() const { return head_; }
  std::string_view data() const { return data_; }
  bool finished() const { return state_ == State::done; }

 private:
  enum class State { preamble, delimiter, head, body, done };
  Event preamble();
  Result<Event> delimiter();
  Result<Event> part_head();
  Event body();
  std::string_view rest() const { return std::string_view(buffer_).substr(offset_); }

  std::string delimiter_;  // CRLF, two dashes, the boundary
  State state_ = State::preamble;
  std::string buffer_;
  std::size_t offset_ = 0;
  PartHead head_;
  std::string_view data_;
};

}  // namespace harena::e2b
