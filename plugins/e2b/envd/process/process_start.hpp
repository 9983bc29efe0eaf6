#pragma once
// A start as Harena's API wants it, and its refusals as E2B's clients know them. Pure.

#include <nlohmann/json.hpp>

#include <chrono>
#include <optional>
#include <string>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/process.pb.h"

namespace harena::e2b {

/// Of each stream so much is kept, for readers that come back; what is longer is told at the command's end.
inline constexpr std::uint64_t kKeptOutputBytes = 512ull << 20;

struct StartContext {
  const SandboxAccess& sandbox;
  std::string user;
  /// Absolute; empty: the template's folder, else the user's home.
  std::string cwd;
  /// Of a tag; empty: none.
  std::string op;
  std::optional<std::chrono::milliseconds> timeout;
};

/// The body of POST .../commands. invalid_argument for what no command can have.
Result<nlohmann::json> start_body(const process::StartRequest& request, const StartContext& context);
/// invalid_argument naming the cwd or the program, unauthenticated naming the user.
Error start_error(Error error, const std::string& reason, const process::StartRequest& request, const StartContext& context);

}  // namespace harena::e2b
