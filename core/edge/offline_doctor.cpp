#include "core/edge/offline_doctor.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>

#include "core/edge/host_findings.hpp"
#include "core/edge/state_findings.hpp"
#include "core/pluginhost/plugin_finder.hpp"
#include "core/pluginhost/plugin_host.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// 0, or the errno of an attempt to listen there; numeric addresses only, as the configuration has them.
int try_to_bind(const ListenAddress& address) {
  addrinfo hints{}, *list = nullptr;
  hints.ai_flags = AI_NUMERICHOST | AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  if (::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list) != 0) return EADDRNOTAVAIL;
  const UniqueFd socket(::socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  (void)::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int error = ::bind(socket.get(), list->ai_addr, list->ai_addrlen) == 0 && ::listen(socket.get(), 1) == 0 ? 0 : errno;
  ::freeaddrinfo(list);
  return error;
}

std::string nearest_existing(const std::string& path) {
  fs::path at(path);
  std::error_code ignored;
  while (!fs::exists(at, ignored) && at.has_relative_path()) at = at.parent_path();
  return at.string();
}

bool gives_backends(const Config& config, const std::string& name, json& findings) {
  const auto folder = find_plugin(config.plugin_dirs, name, loader::OwnerPolicy::root_only);
  if (!folder.ok()) {
    findings.push_back(make_finding("plugin." + name, "error", "the plugin '" + name + "' can't be found", folder.error().message,
                                    "install Harena again, or set plugin_dirs in harena.json"));
    return false;
  }
  const auto checked = loader::check_files(*folder, loader::OwnerPolicy::root_only);
  if (!checked.ok()) {
    findings.push_back(make_finding("plugin." + name, "error", "the plugin '" + name + "' is refused", checked.error().message,
                                    "mend what it names, or install Harena again"));
    return false;
  }
  findings.push_back(make_finding("plugin." + name, "ok", "the plugin '" + name + "' is in " + folder->string()));
  return std::any_of(checked->contracts.begin(), checked->contracts.end(), [](const auto& one) { return one.starts_with("harena.backend/"); });
}

void add_plugin(const Config& config, const std::string& name, const PluginConfig& plugin, json& findings) {
  if (!gives_backends(config, name, findings)) return;
  PluginHostOptions options;
  options.plugin_dirs = config.plugin_dirs;
  options.plugins.push_back({name, plugin.config});
  const auto host = PluginHost::load(options);
  if (!host.ok()) {
    findings.push_back(make_finding("plugin." + name, "error", "the plugin '" + name + "' can't be loaded", host.error().describe(),
                                    "mend what it names (plugins." + name + ".config in harena.json)"));
    return;
  }
  for (const auto& loaded : (*host)->backends()) {
    auto probe = loaded.backend->probe({});
    BackendProbe found;
    if (probe.ok()) found = *std::move(probe);
    else found.why_not.push_back(probe.error().describe());
    add_backend_findings(findings, loaded.backend->describe().name, found);
  }
}

}  // namespace

json port_finding(const std::string& id, const std::string& setting, const ListenAddress& address) {
  const int error = address.port == 0 ? 0 : try_to_bind(address);
  if (error == 0) return make_finding(id, "ok", address.str() + " is free");
  if (error == EADDRINUSE) {
    return make_finding(id, "error", address.str() + " is taken", "harenad can't listen there, and doesn't start",
                        "ss -ltnp 'sport = :" + std::to_string(address.port) + "' names who has it; end that, or set " + setting + " in harena.json");
  }
  return make_finding(id, "error", "harenad can't listen on " + address.str() + ": " + std::generic_category().message(error),
                      "harenad doesn't start", "set " + setting + " in harena.json to an address of this machine");
}

json lock_finding(const std::string& state_dir) {
  const UniqueFd fd(::open((state_dir + "/harenad.lock").c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return make_finding("state.lock", "ok", "no harenad uses " + state_dir);
  return make_finding("state.lock", "error", "a harenad uses " + state_dir, "it is still starting, or stuck: two can't share a state folder",
                      "journalctl -u harenad, or the log of the harenad that runs; systemctl restart harenad");
}

json offline_findings(const Config& config) {
  const std::string folder = nearest_existing(config.state_dir);
  json findings = json::array({kernel_finding(), room_finding(config.state_dir, folder), lock_finding(config.state_dir)});
  for (auto& each : state_findings(read_state_disk(folder), config.state_dir)) findings.push_back(std::move(each));
  // A harenad that has the lock has the ports, too.
  if (findings[2]["level"] == "ok") {
    findings.push_back(port_finding("port.api", "api.listen", config.api));
    findings.push_back(port_finding("port.health", "health.listen", config.health));
  }
  for (const auto& [name, plugin] : config.plugins) {
    if (plugin.enabled) add_plugin(config, name, plugin, findings);
  }
  return findings;
}

}  // namespace harena
