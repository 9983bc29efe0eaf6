#pragma once
// Record: a sandbox of Harena's as E2B sees it. What E2B has and Harena hasn't is in the annotation `e2b`, one JSON document.

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "plugins/e2b/services.hpp"
#include "sdk/base/result.hpp"

namespace harena::e2b {

/// The id of this plugin, which its sandboxes have as label `frontend`.
inline constexpr const char* kPluginId = "dev.harena.e2b";
inline constexpr const char* kTemplateLabel = "e2b-template";
inline constexpr const char* kAnnotation = "e2b";
/// What envd of 2026-08 is called; the SDKs decide by it what they may use.
inline constexpr const char* kEnvdVersion = "0.6.13";

/// What the annotation holds.
struct Extras {
  std::string template_id;   ///< as it was found: "base"
  std::string alias;         ///< the name that the caller used, if another
  std::string origin;        ///< where template_id is a snapshot: the template that it goes back to
  std::map<std::string, std::string> metadata;
  std::optional<bool> allow_internet_access;  ///< as it was asked for
  bool public_traffic = true;                 ///< false: user ports need the traffic token
  std::string mask_request_host;              ///< Host for user ports, with ${PORT}; empty: as it came
  std::vector<std::string> deny_out;          ///< as they were asked for
  std::string user;                           ///< of commands that name none
  std::string workdir;                        ///< empty: the user's home
  std::map<std::string, std::string> env;     ///< given to it when it ran already; those before are in its parameters
  std::int64_t started_ms = 0;                ///< when a sandbox that was ready before became the caller's; 0: with its creation
};
nlohmann::json to_json(const Extras& extras);
/// data_loss for what to_json can't have written.
Result<Extras> extras_from(const nlohmann::json& document);

struct Record {
  std::string id;
  std::string state;  ///< Harena's: "running", "paused", ...
  Extras extras;
  std::int64_t started_ms = 0;
  std::int64_t end_ms = 0;  ///< 0: paused, or no end
  std::int64_t changed_ms = 0;
  std::int64_t lifetime_s = 0;
  bool pauses_at_end = false;
  bool resumes_on_use = false;
  double cpu = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t disk_bytes = 0;
  std::map<std::string, std::string> env;
  std::string backend;

  /// Running or about to be again, or paused: what E2B calls existing.
  bool is_living() const;
  /// Paused, or on the way there.
  bool is_paused() const { return state == "paused" || state == "pausing"; }
};

/// From the API's JSON of a sandbox. not_found for one that this frontend hasn't made.
Result<Record> record_from(const nlohmann::json& sandbox);
/// The words for a sandbox that isn't there.
Error no_such_sandbox(const std::string& id);

/// `Sandbox` of create, connect, resume and fork.
nlohmann::json sandbox_json(const Record& record, const Services& services);
/// `ListedSandbox`.
nlohmann::json listed_json(const Record& record);
/// `SandboxDetail`.
nlohmann::json detail_json(const Record& record, const Services& services);

}  // namespace harena::e2b
