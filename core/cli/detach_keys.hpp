#pragma once
// The keys with which a user leaves a terminal without ending what runs in it.
//
//   HARENA_TRY(auto keys, DetachKeys::parse("ctrl-p,ctrl-q"));
//   const auto typed = keys.feed(bytes);   // typed.forward goes to the command; typed.detached: the keys were there
//
// The surprising rule: the first keys of the sequence are held back until it is clear that they aren't the sequence.

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::cli {

class DetachKeys {
 public:
  /// None: nothing is held back.
  DetachKeys() = default;
  /// Keys with commas between: `ctrl-a` to `ctrl-z`, `ctrl-@ [ \ ] ^ _`, or one printable character. invalid_argument names the wrong one.
  static Result<DetachKeys> parse(const std::string& text);

  struct Typed {
    std::string forward;
    /// The whole sequence was typed; what came behind it is dropped.
    bool detached = false;
  };
  Typed feed(std::string_view bytes);

 private:
  std::string keys_;
  std::size_t matched_ = 0;
};

}  // namespace harena::cli
