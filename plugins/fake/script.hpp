#pragma once
// The rules that make the fake fail, wait or crash on purpose.

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "sdk/cpp/plugin.hpp"

namespace harena::fake {

using plugin::Call;
using plugin::json;

/// A list of rules (schemas.hpp) and, in `counts`, how often each was met: in files, so that "crash once" stays once
/// when the host starts again. Safe for several threads and processes.
class Script {
 public:
  Script(json rules, std::filesystem::path counts, std::string owner)
      : rules_(std::move(rules)), counts_(std::move(counts)), owner_(std::move(owner)) {}

  /// Plays the first rule for `verb` at `when` ("before", "after"): waits, crashes, throws, or returns its error.
  Status play(const Call& call, std::string_view verb, std::string_view when) const;

 private:
  bool applies(const json& rule, std::size_t index) const;
  json rules_;
  std::filesystem::path counts_;
  std::string owner_;
};

/// Waits `delay_ms`; cancelled or deadline_exceeded as soon as the call should end, unless `deaf`.
Status wait_for(const Call& call, std::int64_t delay_ms, bool deaf);

}  // namespace harena::fake
