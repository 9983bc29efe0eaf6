#include "core/cli/detach_keys.hpp"

#include <algorithm>
#include <cctype>

namespace harena::cli {

namespace {

Result<char> parse_key(const std::string& text) {
  if (text.size() == 1 && std::isprint(static_cast<unsigned char>(text[0])) != 0) return text[0];
  if (text.size() == 6 && text.starts_with("ctrl-")) {
    const auto upper = static_cast<char>(std::toupper(static_cast<unsigned char>(text[5])));
    if (upper >= '@' && upper <= '_') return static_cast<char>(upper - '@');
  }
  return make_error(ErrorCode::invalid_argument,
                    "--detach-keys: '" + text + "' is no key; keys look like ctrl-p or q, with commas between: ctrl-p,ctrl-q");
}

}  // namespace

Result<DetachKeys> DetachKeys::parse(const std::string& text) {
  DetachKeys made;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto comma = std::min(text.find(',', begin), text.size());
    HARENA_TRY(const char key, parse_key(text.substr(begin, comma - begin)));
    made.keys_ += key;
    begin = comma + 1;
  }
  return made;
}

DetachKeys::Typed DetachKeys::feed(std::string_view bytes) {
  Typed typed;
  for (const char byte : bytes) {
    if (keys_.empty() || byte != keys_[matched_]) {
      typed.forward.append(keys_, 0, matched_);
      // A sequence is short: only its first key can begin it anew.
      matched_ = !keys_.empty() && byte == keys_[0] ? 1 : 0;
      if (matched_ == 0) typed.forward += byte;
    } else if (++matched_ == keys_.size()) {
      typed.detached = true;
      return typed;
    }
  }
  return typed;
}

}  // namespace harena::cli
