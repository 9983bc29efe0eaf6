#pragma once
// Which command a pid or a tag means, from the sandbox's own list: nothing is remembered here.

#include <nlohmann/json.hpp>

#include <cstdint>

#include "plugins/e2b/envd/envd_call.hpp"
#include "plugins/e2b/envd/proto/process.pb.h"

namespace harena::e2b {

/// An ended command is found for so long, so that a late reader gets its end; after that its pid may be another's.
inline constexpr std::int64_t kEndRetentionMs = 30'000;

enum class Wanted { running, running_or_just_ended };

/// Of several the running one, then the youngest. not_found names the pid or tag. Pure.
Result<nlohmann::json> select_command(const nlohmann::json& commands, const process::ProcessSelector& selector, Wanted wanted,
                                      std::int64_t now_ms);
/// The same, asked of the sandbox.
http::Task<Result<nlohmann::json>> find_command(EnvdCall& call, process::ProcessSelector selector, Wanted wanted);

}  // namespace harena::e2b
