#pragma once
// The plugin's configuration, typed. settings_schema.hpp has its schema.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"
#include "sdk/frontend/listener.hpp"

namespace harena::e2b {

/// What `templateID` names: a stack of images and how a sandbox of it begins.
struct Template {
  std::string id;                      ///< "base"; also its only name
  std::vector<std::string> aliases;    ///< other names
  std::string backend = "container";
  std::string image;                   ///< reference of Harena's: "root/debian:12"
  std::vector<std::string> workspaces;
  std::vector<std::string> toolkits;
  nlohmann::json params = nlohmann::json::object();  ///< the backend's own, beside cpu, memory and disk
  /// 0: the backend's own default. What is named here is promised to each sandbox and counted by admission; a default is a limit.
  double cpu = 0;
  std::int64_t memory_mb = 0;
  std::int64_t disk_mb = 0;            ///< 0: the host's disk is the limit
  std::string start_command;           ///< run as `user` by a login shell when a sandbox begins; empty: none
  std::string ready_command;           ///< repeated until it ends with 0, before create answers; empty: none
  std::int64_t ready_timeout_s = 60;
  std::size_t warm = 0;                ///< sandboxes that are kept ready for creates (warm/warm_pool.hpp)
  std::string user = "user";           ///< of commands that name none
  std::string workdir;                 ///< of commands that name none; empty: the user's home
};

struct Settings : frontend::Listen {
  std::string domain;                  ///< `PORT-ID.domain`; empty: "localhost:PORT" (see docs/e2b.md)
  std::string public_url;              ///< what `harena e2b env` prints; empty: from host and port
  std::vector<Template> templates;
  std::int64_t max_timeout_s = 86'400;
  std::string warm_token_file;         ///< with whose token pools are kept; set wherever a template is warm

  /// By id, alias, `name:default` or `namespace/name`; null: there is none.
  const Template* find_template(std::string_view name) const;
};

/// `document` is valid against kSettingsSchema. invalid_argument for what a schema can't say: one of two TLS files, two
/// templates of a name.
Result<Settings> parse_settings(const nlohmann::json& document);

/// `team/name:tag` in lower case, without namespace and without the tag `default`.
std::string plain_template_name(std::string_view name);

}  // namespace harena::e2b
