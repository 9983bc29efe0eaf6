#pragma once
// The findings of `harena doctor` that are the edge's own: {"id", "level": "ok" | "warning" | "error", "what", "why", "fix"}, why and fix
// empty when level is "ok".

#include <string>

#include <nlohmann/json.hpp>

#include "core/contracts/backend.hpp"

namespace harena {

nlohmann::json make_finding(std::string id, const char* level, std::string what, std::string why = "", std::string fix = "");
nlohmann::json kernel_finding();
/// Memory and disk beside what creates need at least. `shown`: the state folder as the operator knows it; `looked_at`: it, or the
/// nearest folder above it that is there.
nlohmann::json room_finding(const std::string& shown, const std::string& looked_at);
/// Whether a backend is usable, and its own findings (facts.findings, in this form already).
void add_backend_findings(nlohmann::json& findings, const std::string& name, const BackendProbe& probe);

}  // namespace harena
