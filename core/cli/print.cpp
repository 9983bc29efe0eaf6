#include "core/cli/print.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

#include "sdk/client/retry.hpp"

namespace harena::cli {

using nlohmann::json;

namespace {

std::string dumped(const json& value, int indent) { return value.dump(indent, ' ', false, json::error_handler_t::replace); }

std::string printable(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

/// Code points, near enough to columns.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xc0) != 0x80; }));
}

std::string_view hint_of(const Error& error) {
  if (error.cause_detail == client::kNotSent) return "start it (systemctl start harenad), or say where it is with HARENA_URL or --url";
  if (error.code == ErrorCode::unauthenticated && error.message.find("HARENA_TOKEN") == std::string::npos) {
    return "the token was refused: check HARENA_TOKEN or --token; 'harena token create' makes a new one";
  }
  if (error.cause == Cause::infrastructure && error.code == ErrorCode::failed_precondition) return "'harena doctor' says what this machine lacks";
  if (error.cause == Cause::infrastructure && error.retry != Retry::never) return "this may be over in a moment: try again";
  return "";
}

}  // namespace

Status write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EPIPE) return make_error(ErrorCode::cancelled, "nobody reads the output any more");
    if (count < 0) return errno_error(errno, "writing the output");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Status print_line(std::string_view line) { return write_all(STDOUT_FILENO, std::string(line) + "\n"); }
Status print_json(const json& value) { return print_line(dumped(value, 2)); }

Table::Table(std::vector<std::string> titles) { rows_.push_back(std::move(titles)); }

void Table::add(std::vector<std::string> cells) {
  for (auto& cell : cells) cell = cell.empty() ? "-" : printable(std::move(cell));
  rows_.push_back(std::move(cells));
}

Status Table::print() const {
  std::vector<std::size_t> widths(rows_.front().size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t at = 0; at < row.size(); ++at) widths[at] = std::max(widths[at], width(row[at]));
  }
  std::string text;
  for (const auto& row : rows_) {
    for (std::size_t at = 0; at < row.size(); ++at) {
      text += row[at];
      if (at + 1 < row.size()) text.append(widths[at] - width(row[at]) + 2, ' ');
    }
    text += '\n';
  }
  return write_all(STDOUT_FILENO, text);
}

void print_error(const Error& error, bool as_json) {
  std::string text;
  if (as_json) {
    const json body = {{"code", to_string(error.code)},       {"message", error.message}, {"cause", to_string(error.cause)},
                       {"cause_detail", error.cause_detail}, {"retry", to_string(error.retry)}};
    text = dumped({{"error", body}}, -1) + "\n";
  } else {
    text = "error: " + error.describe() + "\n";
    if (const auto hint = hint_of(error); !hint.empty()) text += "hint: " + std::string(hint) + "\n";
  }
  const auto ignored = write_all(STDERR_FILENO, text);
}

std::string age(std::int64_t since_ms, std::int64_t now_ms) {
  const auto seconds = std::max<std::int64_t>(0, now_ms - since_ms) / 1'000;
  if (seconds < 120) return std::to_string(seconds) + "s";
  if (seconds < 120 * 60) return std::to_string(seconds / 60) + "m";
  if (seconds < 48 * 3600) return std::to_string(seconds / 3600) + "h";
  return std::to_string(seconds / 86'400) + "d";
}

std::string human_size(std::int64_t bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace harena::cli
