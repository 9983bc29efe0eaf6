#include "sdk/conformance/report.hpp"

#include <array>
#include <cstdio>

#include "sdk/base/text.hpp"

namespace harena::conformance {
namespace {

constexpr std::array kOutcomes = {Outcome::passed, Outcome::warning, Outcome::skipped, Outcome::failed, Outcome::crashed, Outcome::timed_out};

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", seconds);
  return text;
}

// Characters that XML 1.0 can't hold are left out.
std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') out += c;
  }
  return is_utf8(out) ? out : "(not UTF-8)";
}

std::string junit_case(const CaseReport& r) {
  std::string text = "  <testcase classname=\"level" + std::to_string(r.level) + "\" name=\"" + escaped(r.name) + "\" time=\"" + seconds_text(r.seconds) + "\">\n";
  std::string message = " message=\"" + escaped(r.message) + "\"";
  if (r.outcome == Outcome::failed) text += "    <failure" + message + "/>\n";
  if (r.outcome == Outcome::crashed || r.outcome == Outcome::timed_out) text += "    <error type=\"" + std::string(to_string(r.outcome)) + "\"" + message + "/>\n";
  if (r.outcome == Outcome::skipped) text += "    <skipped" + message + "/>\n";
  std::string output = r.outcome == Outcome::warning ? "warning: " + r.message + "\n" + r.output : r.output;
  if (!output.empty()) text += "    <system-out>" + escaped(output) + "</system-out>\n";
  return text + "  </testcase>\n";
}

}  // namespace

std::map<Outcome, int> totals(const std::vector<CaseReport>& reports) {
  std::map<Outcome, int> counts;
  for (Outcome outcome : kOutcomes) counts[outcome] = 0;
  for (const auto& report : reports) ++counts[report.outcome];
  return counts;
}

std::string as_line(const CaseReport& r) {
  char head[128];
  std::snprintf(head, sizeof(head), "%-9s  level %d  %-28s %7.2f s", std::string(to_string(r.outcome)).c_str(), r.level, r.name.c_str(), r.seconds);
  std::string text = head;
  if (is_bad(r.outcome)) text += "\n           promise: " + r.promise;
  if (!r.message.empty()) text += "\n           " + r.message;
  if (is_bad(r.outcome) && !r.output.empty()) text += "\n           output: " + r.output;
  return text + "\n";
}

std::string summary_line(const std::vector<CaseReport>& reports) {
  std::string text;
  auto counts = totals(reports);
  for (Outcome outcome : kOutcomes) text += (text.empty() ? "" : ", ") + std::to_string(counts[outcome]) + " " + std::string(to_string(outcome));
  return text + "\n";
}

json as_json(const std::string& plugin, const std::vector<CaseReport>& reports) {
  json cases = json::array(), sums = json::object();
  for (const auto& r : reports) {
    cases.push_back({{"name", r.name}, {"level", r.level}, {"outcome", to_string(r.outcome)}, {"promise", r.promise},
                     {"message", r.message}, {"output", r.output}, {"seconds", r.seconds}});
  }
  for (auto [outcome, count] : totals(reports)) sums[std::string(to_string(outcome))] = count;
  return {{"plugin", plugin}, {"cases", cases}, {"totals", sums}};
}

std::string as_junit(const std::string& plugin, const std::vector<CaseReport>& reports) {
  auto counts = totals(reports);
  double seconds = 0;
  std::string cases;
  for (const auto& report : reports) seconds += report.seconds, cases += junit_case(report);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"" + escaped(plugin) + "\" tests=\"" + std::to_string(reports.size()) +
         "\" failures=\"" + std::to_string(counts[Outcome::failed]) + "\" errors=\"" +
         std::to_string(counts[Outcome::crashed] + counts[Outcome::timed_out]) + "\" skipped=\"" + std::to_string(counts[Outcome::skipped]) +
         "\" time=\"" + seconds_text(seconds) + "\">\n" + cases + "</testsuite>\n";
}

}  // namespace harena::conformance
