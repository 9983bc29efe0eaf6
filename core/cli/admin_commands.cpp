// backends, plugins, nodes, doctor, version

#include <unistd.h>

#include <cstdlib>

#include "core/cli/local_doctor.hpp"
#include "core/cli/print.hpp"
#include "core/cli/program.hpp"
#include "sdk/client/client.hpp"

namespace harena::cli {

using client::text_or;
using nlohmann::json;

namespace {

std::string words(const json& list) {
  std::string text;
  for (const auto& one : list) text += (text.empty() ? "" : " ") + (one.is_string() ? one.get<std::string>() : one.dump());
  return text;
}

using Row = std::function<std::vector<std::string>(const json&)>;

/// A list of the API as a table, or as it is.
Result<int> show_list(Program& program, const std::string& path, const char* name, std::vector<std::string> titles, const Row& row) {
  HARENA_TRY(const auto client, program.connect());
  HARENA_TRY(const auto answer, client->get(path));
  const auto list = answer.value(name, json::array());
  if (program.options.json) {
    HARENA_TRY_STATUS(print_json(list));
    return kExitOk;
  }
  Table table(std::move(titles));
  for (const auto& one : list) table.add(row(one));
  HARENA_TRY_STATUS(table.print());
  return kExitOk;
}

Result<int> backends(Program& program) {
  return show_list(program, "/backends", "backends", {"NAME", "USABLE", "VERBS", "PARAMETERS", "WHY NOT"}, [](const json& one) {
    std::string params;
    const auto properties = one.value("params_schema", json::object()).value("properties", json::object());
    for (const auto& [key, value] : properties.items()) {
      params += (params.empty() ? "" : " ") + key;
    }
    return std::vector<std::string>{text_or(one, "name"), one.value("usable", false) ? "yes" : "no",
                                    words(one.value("verbs", json::array())), params, text_or(one, "why_not")};
  });
}

Result<int> plugins(Program& program) {
  return show_list(program, "/plugins", "plugins", {"ID", "VERSION", "STATE", "CONTRACTS", "PATH"}, [](const json& one) {
    return std::vector<std::string>{text_or(one, "id"), text_or(one, "version"), text_or(one, "state"),
                                    words(one.value("contracts", json::array())), text_or(one, "path")};
  });
}

Result<int> nodes(Program& program) {
  return show_list(program, "/nodes", "nodes", {"EDGE", "STATE", "BACKENDS", "WHY"}, [](const json& one) {
    return std::vector<std::string>{text_or(one, "edge"), text_or(one, "state"), words(one.value("backends", json::array())),
                                    text_or(one, "why")};
  });
}

std::string finding_text(const json& finding) {
  const auto level = text_or(finding, "level");
  std::string text = (level == "ok" ? "ok       " : level == "warning" ? "warning  " : "error    ") + text_or(finding, "what") + "\n";
  if (level == "ok") return text;
  if (const auto why = text_or(finding, "why"); !why.empty()) text += "         why: " + why + "\n";
  if (const auto fix = text_or(finding, "fix"); !fix.empty()) text += "         fix: " + fix + "\n";
  return text;
}

struct DoctorOptions {
  std::string config;
  bool local = false;
};

/// Another machine's server isn't this machine's business.
bool asks_this_machine(const Program& program) {
  const char* url = program.options.url.empty() ? std::getenv("HARENA_URL") : program.options.url.c_str();
  const auto endpoint = client::parse_url(url == nullptr || *url == 0 ? client::kDefaultUrl : std::string_view(url));
  return endpoint.ok() && endpoint->loopback();
}

Result<json> findings_of(Program& program, const DoctorOptions& options) {
  if (options.local) return local_findings(options.config, "");
  const auto client = program.connect();
  // Root finds the token of a harenad that was ever started here; others may just not be allowed to read it.
  const bool never_started = !client.ok() && client.error().code == ErrorCode::unauthenticated && ::geteuid() == 0;
  if (never_started && asks_this_machine(program)) return local_findings(options.config, "it was never started here: there is no admin token");
  if (!client.ok()) return client.error();
  auto answer = (*client)->get("/doctor");
  if (answer.ok()) return answer->value("findings", json::array());
  if (answer.error().code != ErrorCode::unavailable || !asks_this_machine(program)) return std::move(answer).error();
  return local_findings(options.config, answer.error().message);
}

Result<int> doctor(Program& program, const DoctorOptions& options) {
  HARENA_TRY(const auto findings, findings_of(program, options));
  int code = kExitOk;
  std::string text;
  for (const auto& finding : findings) {
    if (text_or(finding, "level") == "error") code = kExitFindings;
    text += finding_text(finding);
  }
  HARENA_TRY_STATUS(program.options.json ? print_json(findings) : write_all(1, text));
  return code;
}

/// The client's version is worth knowing when the server can't be reached, too.
Result<int> version(Program& program) {
  auto client = program.connect();
  auto server = client.ok() ? (*client)->get("/version") : Result<json>(std::move(client).error());
  if (program.options.json) {
    HARENA_TRY_STATUS(print_json({{"client", HARENA_VERSION}, {"server", server.ok() ? *server : json()}}));
    return kExitOk;
  }
  std::string text = "harena " HARENA_VERSION "\n";
  text += server.ok() ? "server " + text_or(*server, "version") + ", plugin ABI " + text_or(*server, "abi") + ", " +
                            text_or(*server, "session_protocol") + "\n"
                      : "server unknown: " + server.error().message + "\n";
  HARENA_TRY_STATUS(write_all(1, text));
  return kExitOk;
}

}  // namespace

void add_admin(Program& program) {
  program.command("backends", "List the backends and their parameters", [&program] { return backends(program); });
  program.command("plugins", "List the enabled plugins", [&program] { return plugins(program); });
  program.command("nodes", "List the machines", [&program] { return nodes(program); });
  auto options = std::make_shared<DoctorOptions>();
  auto* sub = program.command("doctor", "Say what the server's machine has, lacks, and what that costs",
                              [&program, options] { return doctor(program, *options); });
  sub->add_flag("--local", options->local, "Look at this machine, without asking a server (so it does where none answers)");
  sub->add_option("--config", options->config, "With that: harenad's configuration file");
  program.command("version", "Versions of this program and of the server", [&program] { return version(program); });
}

}  // namespace harena::cli
