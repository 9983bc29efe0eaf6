#pragma once
// Where the core's records lie in the state store. README.md has the table; this is the only place that spells it.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/model/project.hpp"
#include "sdk/base/ids.hpp"

namespace harena::keys {

inline constexpr std::string_view kSandboxes = "/v1/sandboxes/";
inline constexpr std::string_view kEnded = "/v1/ended/";
inline constexpr std::string_view kIdempotency = "/v1/idempotency/";
inline constexpr std::string_view kIdempotencyEnds = "/v1/idempotency-ends/";
inline constexpr std::string_view kProjects = "/v1/projects/";
inline constexpr std::string_view kTokens = "/v1/tokens/";
inline constexpr std::string_view kEvents = "/v1/events/";
inline constexpr std::string_view kMeta = "/v1/meta/";

std::string sandbox(const SandboxId& id);
/// Ordered by the time of the end, so that a purge reads only what is due.
std::string ended(std::int64_t ended_ms, const SandboxId& id);
/// A project has no ':' (check_name), so the first one ends it and no two pairs share a key.
std::string idempotency(const ProjectPath& project, std::string_view key);
std::string idempotency_ends(std::int64_t ends_ms, const SandboxId& id);
std::string project(const ProjectPath& path);
std::string token(std::string_view secret_hash);
std::string meta(std::string_view name);

/// The beginning of all index keys before `time_ms`: `prefix` and the time as it is ordered.
std::string time_bound(std::string_view prefix, std::int64_t time_ms);
/// The time of a key that ended() or idempotency_ends() made, -1 for another.
std::int64_t time_of(std::string_view prefix, std::string_view key);
/// The id at the end of such a key; invalid_argument when there is none.
Result<SandboxId> id_of(std::string_view key);

/// The smallest key above all that begin with `prefix` (empty: there is none).
std::string after_prefix(std::string_view prefix);
/// The smallest key above `key`.
std::string successor(std::string_view key);

}  // namespace harena::keys
