#include "core/api/session/file_conditions.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <vector>

namespace harena {
namespace {

constexpr std::int64_t kSettledNs = 20'000'000;

std::string hex(std::uint64_t value) {
  std::array<char, 17> text{};
  std::snprintf(text.data(), text.size(), "%llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The entity tags of a list, `W/` included; "*" is itself.
std::vector<std::string_view> tags_of(const http::Headers& headers, std::string_view name) {
  std::vector<std::string_view> tags;
  for (auto value : headers.get_all(name)) {
    while (!(value = trimmed(value)).empty()) {
      bool quoted = value.front() == '"' || value.starts_with("W/\"");
      auto quote = quoted ? value.find('"', value.find('"') + 1) : std::string_view::npos;
      auto end = quote == std::string_view::npos ? std::min(value.find(','), value.size()) : quote + 1;
      tags.push_back(trimmed(value.substr(0, end)));
      value.remove_prefix(end);
      value.remove_prefix(std::min(value.find(',') == std::string_view::npos ? value.size() : value.find(',') + 1, value.size()));
    }
  }
  return tags;
}

bool lists(const std::vector<std::string_view>& tags, const std::string& etag, bool weakly) {
  return std::any_of(tags.begin(), tags.end(), [&](std::string_view tag) {
    if (tag == "*") return true;
    if (weakly && tag.starts_with("W/")) tag.remove_prefix(2);
    return !etag.empty() && tag == etag;
  });
}

std::optional<std::uint64_t> digits(std::string_view text) {
  std::uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || end != text.data() + text.size()) return std::nullopt;
  // A position that no file has is still a well-formed one.
  if (error == std::errc::result_out_of_range) return UINT64_MAX;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

Error unsatisfiable(std::string_view range, std::uint64_t size) {
  return make_error(ErrorCode::out_of_range, "range '" + std::string(range) + "' has no byte of a file of " + std::to_string(size));
}

/// 14.1.2: FIRST-LAST, FIRST- or -SUFFIX.
Result<std::optional<ByteRange>> parse_range(std::string_view spec, std::uint64_t size) {
  std::optional<ByteRange> none;
  auto dash = spec.find('-');
  if (dash == std::string_view::npos) return none;
  auto first = digits(spec.substr(0, dash)), last = digits(spec.substr(dash + 1));
  bool suffix = dash == 0, open = dash + 1 == spec.size();
  if (suffix ? !last : !first || (!open && (!last || *last < *first))) return none;
  ByteRange range;
  range.first = suffix ? size - std::min(size, *last) : *first;
  if (range.first >= size) return unsatisfiable(spec, size);
  range.length = (suffix || open ? size : std::min(size - 1, *last) + 1) - range.first;
  return std::optional(range);
}

}  // namespace

FileVersion version_of(const session::FileStat& stat) {
  FileVersion version;
  version.modified_s = stat.mtime_ns / 1'000'000'000 - (stat.mtime_ns % 1'000'000'000 < 0 ? 1 : 0);
  if (stat.ctime_ns == 0 || stat.seen_ns == 0) return version;
  // A time to come isn't told (RFC 9110 8.8.2.1).
  version.modified_s = std::min(version.modified_s, stat.seen_ns / 1'000'000'000);
  version.etag = "\"" + hex(stat.inode) + "-" + hex(stat.size) + "-" + hex(static_cast<std::uint64_t>(stat.ctime_ns));
  if (stat.seen_ns - stat.ctime_ns < kSettledNs) version.etag += "-" + hex(static_cast<std::uint64_t>(stat.seen_ns));
  version.etag += "\"";
  return version;
}

std::string http_date(std::int64_t unix_s) {
  std::time_t time = unix_s;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  auto size = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text.data(), size};
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  const std::string copy(trimmed(text));
  for (const char* format : {"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"}) {
    std::tm parts{};
    const char* end = ::strptime(copy.c_str(), format, &parts);
    if (end != nullptr && *end == '\0') return ::timegm(&parts);
  }
  return std::nullopt;
}

Verdict judge_conditions(const http::Headers& headers, const FileVersion& version) {
  auto date = [&](std::string_view name) {
    auto text = headers.get(name);
    return text ? parse_http_date(*text) : std::nullopt;
  };
  if (headers.contains("If-Match")) {
    if (!lists(tags_of(headers, "If-Match"), version.etag, false)) return Verdict::failed;
  } else if (auto since = date("If-Unmodified-Since"); since && version.modified_s > *since) {
    return Verdict::failed;
  }
  if (headers.contains("If-None-Match")) {
    return lists(tags_of(headers, "If-None-Match"), version.etag, true) ? Verdict::not_modified : Verdict::proceed;
  }
  auto since = date("If-Modified-Since");
  return since && version.modified_s <= *since ? Verdict::not_modified : Verdict::proceed;
}

Result<std::optional<ByteRange>> wanted_range(const http::Headers& headers, const FileVersion& version, std::uint64_t size) {
  std::optional<ByteRange> whole;
  auto range = headers.get("Range");
  if (!range || headers.count("Range") > 1 || !range->starts_with("bytes=") || range->find(',') != std::string_view::npos) return whole;
  if (auto condition = headers.get("If-Range"); condition && (version.etag.empty() || trimmed(*condition) != version.etag)) return whole;
  return parse_range(trimmed(range->substr(6)), size);
}

}  // namespace harena
