#pragma once
// Sandbox: what is known of one environment; CreateSpec: what a caller asked for. Pure data with JSON forms.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/model/project.hpp"
#include "core/model/state.hpp"
#include "sdk/base/ids.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// Seconds without any operation before idle_action is taken (architecture.md, "Names and numbers").
inline constexpr std::int64_t kDefaultIdleTtlSeconds = 300;
/// Ten years: what a longer time is meant to be, is "never", which is 0.
inline constexpr std::int64_t kMaxTtlSeconds = 315'360'000;
inline constexpr std::size_t kMaxLabels = 64;
inline constexpr std::size_t kMaxLabelKey = 128;
inline constexpr std::size_t kMaxLabelValue = 256;
/// All keys and values of the annotations together; there are at most kMaxLabels of them, with keys as those of labels.
inline constexpr std::size_t kMaxAnnotationBytes = 64 * 1024;
inline constexpr std::size_t kMaxIdempotencyKey = 128;

enum class IdleAction { stop, pause };
std::string_view to_string(IdleAction action);
/// `what` begins the message of the error.
Result<IdleAction> idle_action_from(const std::string& text, const std::string& what);

using Labels = std::map<std::string, std::string>;

/// What a create asked for, after validation of all that doesn't depend on the backend.
struct CreateSpec {
  std::string backend;
  ProjectPath project = ProjectPath::root();
  std::string task;                     ///< empty: belongs to none
  std::string image;                    ///< reference of the base; empty when the backend needs none
  std::vector<std::string> workspaces;  ///< references, lowest first
  std::vector<std::string> toolkits;
  Labels labels;
  std::int64_t idle_ttl_s = kDefaultIdleTtlSeconds;  ///< 0: never idle
  std::int64_t lifetime_s = 0;                       ///< 0: no absolute end
  IdleAction idle_action = IdleAction::stop;
  IdleAction lifetime_action = IdleAction::stop;     ///< what its end by lifetime_s does
  /// While it is paused it has no end; a resume gives it lifetime_s anew. Always with lifetime_action pause.
  bool lifetime_restarts = false;
  bool resume_on_use = true;                         ///< false: only the verb resume ends a pause
  /// Texts that the platform only keeps, of users and frontends; not to be searched for, unlike labels.
  Labels annotations;
  nlohmann::json params = nlohmann::json::object();  ///< the backend's own; checked against its schema
  std::string idempotency_key;                       ///< empty: none
  /// A snapshot's id or name, in place of an image. What isn't given is as it was in the sandbox that it was taken of.
  std::string snapshot;
  /// Of a forked child, never given by a caller: its source, and how many the fork was asked for.
  std::string forked_from;
  std::int64_t fork_count = 0;
};

/// Parses the body of POST /v1/backends/{backend}/sandboxes. Unknown keys are invalid_argument naming the nearest
/// right one; so are sizes and times that aren't numbers, negative or over the limits above.
Result<CreateSpec> parse_create_spec(const std::string& backend, const nlohmann::json& body);
/// The same for what to_json wrote: with the members that no caller may give.
Result<CreateSpec> parse_stored_spec(const std::string& backend, const nlohmann::json& body);
/// The canonical form: parse_stored_spec of it gives an equal spec. Its hash tells whether two creates under one
/// idempotency key ask for the same.
nlohmann::json to_json(const CreateSpec& spec);

/// Key and value bounds above, keys of printable ASCII without `=` and `,`.
Status check_labels(const Labels& labels);

/// Keys as those of labels; values are UTF-8; kMaxAnnotationBytes.
Status check_annotations(const Labels& annotations);

/// CPU and memory of a sandbox, as far as its parameters say. The backends' usual names: `cpu` (cores), `memory` (a size or
/// bytes) or `memory_bytes`; zero where they don't say.
struct Resources {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_bytes = 0;
  bool operator==(const Resources&) const = default;
};
Resources resources_of(const nlohmann::json& params);
/// What is promised after `change` has been laid over the parameters: what it doesn't name stays as promised.
Resources resources_after(Resources promised, const nlohmann::json& change);

/// Why a sandbox is failed (or stopped by something else than its owner).
struct Ending {
  Cause cause = Cause::none;
  std::string detail;  ///< `memory`, `edge`, `idle_ttl`, `lifetime`, ...
  std::string message;
};

/// Where a resize leads.
struct PendingResize {
  nlohmann::json params;
  Resources promised;
};

struct Sandbox {
  SandboxId id;
  CreateSpec spec;
  SandboxState state = SandboxState::creating;
  std::string created_by;                 ///< principal
  /// What the caller asked for by name, and this machine therefore promised. What only a default gives is a limit, not a
  /// promise: a thousand idle sandboxes of the default size promise nothing.
  Resources promised;
  std::int64_t created_ms = 0;            ///< wall clock
  std::int64_t changed_ms = 0;            ///< of the last change of state
  std::int64_t expires_ms = 0;            ///< absolute end by lifetime_s; 0: none
  Ending ending;                          ///< of terminal states
  std::string backend_state;              ///< the backend's opaque blob; never shown
  std::string session_endpoint;           ///< never shown
  nlohmann::json details = nlohmann::json::object();  ///< what the backend tells of it
  std::vector<std::string> layer_digests;
  nlohmann::json image_config = nlohmann::json::object();  ///< of the image, as its commands need it; never shown
  /// A resize in progress; spec.params are still those before. A restart that finds one goes through with it.
  std::optional<PendingResize> resizing;
};

/// The absolute end of a sandbox in the state that it has, were its lifetime_s to begin now; 0: none.
std::int64_t fresh_end(const Sandbox& sandbox, std::int64_t now_ms);
/// Its end after a change of state from `before`: what lifetime_restarts says.
std::int64_t end_after(const Sandbox& sandbox, SandboxState before, std::int64_t now_ms);
/// `given` over `before`, parameter by parameter; a size in either spelling ("memory", "memory_bytes") replaces the other.
nlohmann::json merge_params(nlohmann::json before, const nlohmann::json& given);

/// For the API: without backend_state and endpoint.
nlohmann::json to_public_json(const Sandbox& sandbox);
/// For the state store: everything. from_stored_json is data_loss for what to_stored_json can't have written.
nlohmann::json to_stored_json(const Sandbox& sandbox);
Result<Sandbox> sandbox_from_stored_json(const nlohmann::json& json);

/// Which sandboxes a list shows. Empty members don't filter.
struct SandboxFilter {
  std::optional<ProjectPath> project;  ///< it and everything below it
  std::string task;
  std::string backend;
  std::vector<SandboxState> states;
  Labels labels;  ///< all must match
};
bool matches(const SandboxFilter& filter, const Sandbox& sandbox);

}  // namespace harena
