#include "sdk/base/ids.hpp"

#include <algorithm>

namespace harena {
namespace {

bool is_base36(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

}  // namespace

bool is_edge_code(std::string_view text) {
  return text.size() == kEdgeCodeLength && is_base36(text);
}

Result<SandboxId> SandboxId::parse(std::string_view text) {
  if (text.size() != kSandboxIdLength || !is_base36(text)) {
    return make_error(ErrorCode::invalid_argument,
                      "'" + std::string(text.substr(0, 64)) +
                          "' is not a sandbox id: it has 20 characters of 0-9 and a-z");
  }
  return SandboxId(std::string(text));
}

SandboxId SandboxId::generate(std::string_view edge_code, RandomSource& random) {
  return SandboxId(std::string(edge_code) + random.base36(kSandboxIdLength - kEdgeCodeLength));
}

}  // namespace harena
