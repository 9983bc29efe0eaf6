// e2b env: what E2B's clients need to know.

#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "core/cli/words.hpp"
#include "sdk/client/client.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

struct EnvOptions {
  std::string url;
  std::string create_key;
  std::string project;
  std::string expires;
};

constexpr const char* kPluginId = "dev.harena.e2b";

/// An address that means "all of this machine" isn't one to connect to: the API's host is.
std::string reachable(std::string url, const std::string& host) {
  for (const std::string any : {"0.0.0.0", "[::]"}) {
    const auto at = url.find("://" + any);
    if (at != std::string::npos) url.replace(at + 3, any.size(), host);
  }
  return url;
}

Result<std::string> find_url(client::Client& client) {
  HARENA_TRY(const auto answer, client.get("/plugins"));
  for (const auto& plugin : answer.value("plugins", json::array())) {
    const auto listen = plugin.value("listen", json::array());
    if (text_or(plugin, "id") == kPluginId && !listen.empty()) return reachable(listen[0].get<std::string>(), client.endpoint().host);
  }
  return make_error(ErrorCode::failed_precondition,
                    "this installation doesn't speak E2B's protocol: put \"plugins\": {\"e2b\": {}} into its configuration and restart it");
}

Result<std::string> make_key(client::Client& client, const EnvOptions& options) {
  json body = {{"name", options.create_key},
               {"form", "e2b"},
               {"permissions", {"sandbox_create", "sandbox_read", "sandbox_use", "sandbox_stop", "image_read"}}};
  if (!options.project.empty()) body["project"] = options.project;
  if (!options.expires.empty()) {
    HARENA_TRY(body["expires_s"], parse_duration_s(options.expires, "--expires", 1));
  }
  HARENA_TRY(const auto token, client.post("/tokens", body));
  return text_or(token, "secret");
}

Result<int> env(Program& program, const EnvOptions& options) {
  HARENA_TRY(const auto client, program.connect());
  std::string url = options.url;
  if (url.empty()) {
    HARENA_TRY(url, find_url(*client));
  }
  const auto& own = client->endpoint().token;
  std::string key = own.starts_with("e2b_") ? own : std::string();
  if (!options.create_key.empty()) {
    HARENA_TRY(key, make_key(*client, options));
  }
  if (program.options.json) {
    json document = {{"E2B_API_URL", url}, {"E2B_SANDBOX_URL", url}};
    if (!key.empty()) document["E2B_API_KEY"] = key;
    HARENA_TRY_STATUS(print_json(document));
    return kExitOk;
  }
  HARENA_TRY_STATUS(print_line("export E2B_API_URL=" + url));
  HARENA_TRY_STATUS(print_line("export E2B_SANDBOX_URL=" + url));
  HARENA_TRY_STATUS(print_line(key.empty() ? "# no key yet: harena e2b env --create-key NAME makes one and prints it as E2B_API_KEY"
                                           : "export E2B_API_KEY=" + key));
  return kExitOk;
}

}  // namespace

void add_e2b(Program& program) {
  auto* e2b = program.command("e2b", "For code that was written for E2B", nullptr);
  e2b->require_subcommand(1);
  auto options = std::make_shared<EnvOptions>();
  auto* sub = program.command(*e2b, "env", "Print the variables for E2B's SDKs: eval \"$(harena e2b env --create-key me)\"",
                              [&program, options] { return env(program, *options); });
  sub->add_option("--create-key", options->create_key, "Make an API key of that name; nothing shows it again");
  sub->add_option("--project", options->project, "Where the key is valid, with all below (root)");
  sub->add_option("--expires", options->expires, "The key is valid for: 30d");
  sub->add_option("--frontend-url", options->url, "Where clients reach the plugin, instead of asking the server");
}

}  // namespace harena::cli
