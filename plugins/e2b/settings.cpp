#include "plugins/e2b/settings.hpp"

#include <algorithm>
#include <set>

#include "sdk/base/text.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

Error bad(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Template parse_template(const std::string& id, const json& from) {
  Template made;
  made.id = id;
  made.aliases = from.value("aliases", std::vector<std::string>());
  made.backend = from.value("backend", made.backend);
  made.image = from.at("image").get<std::string>();
  made.workspaces = from.value("workspaces", std::vector<std::string>());
  made.toolkits = from.value("toolkits", std::vector<std::string>());
  made.params = from.value("params", json::object());
  made.cpu = from.value("cpu", made.cpu);
  made.memory_mb = from.value("memory_mb", made.memory_mb);
  made.disk_mb = from.value("disk_mb", made.disk_mb);
  made.start_command = from.value("start_command", "");
  made.ready_command = from.value("ready_command", "");
  made.ready_timeout_s = from.value("ready_timeout_s", made.ready_timeout_s);
  made.warm = from.value("warm", made.warm);
  made.user = from.value("user", made.user);
  made.workdir = from.value("workdir", "");
  return made;
}

bool is_template_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  });
}

Status check_names(const std::vector<Template>& templates) {
  std::set<std::string> seen;
  for (const auto& one : templates) {
    auto names = one.aliases;
    names.push_back(one.id);
    for (const auto& name : names) {
      if (!is_template_name(name)) {
        return bad("template name '" + name + "': 1 to 128 of a-z, 0-9, '-', '_' and '.' are right");
      }
      if (!seen.insert(name).second) return bad("two templates are called '" + name + "'");
    }
  }
  return ok_status();
}

Status check_warm(const Settings& settings) {
  if (!settings.warm_token_file.empty()) return ok_status();
  for (const auto& one : settings.templates) {
    if (one.warm == 0) continue;
    return bad("templates." + one.id + ".warm is " + std::to_string(one.warm) +
               " and warm_token_file isn't set; a file with the token that these sandboxes are made with is right, such as "
               "/var/lib/harena/admin.token");
  }
  return ok_status();
}

}  // namespace

std::string plain_template_name(std::string_view name) {
  const auto slash = name.rfind('/');
  if (slash != std::string_view::npos) name.remove_prefix(slash + 1);
  std::string plain = ascii_lower(name);
  constexpr std::string_view kDefaultTag = ":default";
  if (plain.ends_with(kDefaultTag)) plain.resize(plain.size() - kDefaultTag.size());
  return plain;
}

const Template* Settings::find_template(std::string_view name) const {
  const auto plain = plain_template_name(name);
  for (const auto& one : templates) {
    if (one.id == plain || std::find(one.aliases.begin(), one.aliases.end(), plain) != one.aliases.end()) return &one;
  }
  return nullptr;
}

Result<Settings> parse_settings(const json& document) {
  Settings made;
  HARENA_TRY(static_cast<frontend::Listen&>(made), frontend::parse_listen(document, "127.0.0.1:7400", 20'000));
  made.domain = document.value("domain", "");
  made.public_url = document.value("public_url", "");
  made.max_timeout_s = document.value("max_timeout_s", made.max_timeout_s);
  const auto templates = document.value("templates", json::object());
  for (const auto& [id, one] : templates.items()) made.templates.push_back(parse_template(id, one));
  HARENA_TRY_STATUS(check_names(made.templates));
  made.warm_token_file = document.value("warm_token_file", "");
  HARENA_TRY_STATUS(check_warm(made));
  return made;
}

}  // namespace harena::e2b
