#pragma once
// Long texts made piece by piece, so that no output is ever whole in memory: JSON strings, base64, and whether bytes are UTF-8.

#include <string>
#include <string_view>

namespace harena {

/// Appends `bytes` as the inside of a JSON string (RFC 8259), without its quotes. The parts of one string may be cut anywhere;
/// together they must be UTF-8, which isn't checked here.
void append_json_text(std::string& out, std::string_view bytes);

/// Whether what was added so far, in pieces cut anywhere, is UTF-8.
class Utf8Check {
 public:
  void add(std::string_view bytes);
  /// Also false when it ends inside a character.
  bool valid() const { return valid_ && begun_.empty(); }

 private:
  void finish_character(std::string_view& bytes);
  bool valid_ = true;
  /// The first bytes of a character whose last ones haven't come.
  std::string begun_;
};

/// Base64 (RFC 4648, padded) of pieces of any length.
class Base64Parts {
 public:
  void append(std::string& out, std::string_view bytes);
  void finish(std::string& out);

 private:
  /// Up to two bytes that wait for their third.
  std::string rest_;
};

}  // namespace harena
