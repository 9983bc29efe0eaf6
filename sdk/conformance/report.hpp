#pragma once
// What harena-plugin-check prints and writes.

#include <map>
#include <string>
#include <vector>

#include "sdk/conformance/runner.hpp"

namespace harena::conformance {

std::map<Outcome, int> totals(const std::vector<CaseReport>& reports);
/// "PASS  level 1  loads  (0.01 s)", with the message below when there is one.
std::string as_line(const CaseReport& report);
std::string summary_line(const std::vector<CaseReport>& reports);
/// {"plugin": "...", "cases": [...], "totals": {...}}.
json as_json(const std::string& plugin, const std::vector<CaseReport>& reports);
/// The JUnit XML that CI systems read.
std::string as_junit(const std::string& plugin, const std::vector<CaseReport>& reports);

}  // namespace harena::conformance
