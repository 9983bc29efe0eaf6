#pragma once
// `harenad --doctor`: the findings of this machine without a daemon, and without making, opening or listening on anything that a daemon
// would: what keeps one from starting is among them.

#include <nlohmann/json.hpp>

#include "core/config/config.hpp"

namespace harena {

/// In the form of host_findings.hpp. Backends are loaded and asked; state stores, image stores and frontends are not. [blocking]
nlohmann::json offline_findings(const Config& config);

/// Its parts, for tests.
nlohmann::json port_finding(const std::string& id, const std::string& setting, const ListenAddress& address);
nlohmann::json lock_finding(const std::string& state_dir);

}  // namespace harena
