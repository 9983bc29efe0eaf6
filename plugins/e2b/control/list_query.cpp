#include "plugins/e2b/control/list_query.hpp"

#include <algorithm>
#include <charconv>
#include <ctime>

#include "sdk/base/text.hpp"

namespace harena::e2b {

namespace {

constexpr std::int64_t kMaxLimit = 100;
constexpr std::size_t kAll = SIZE_MAX;

Error bad_query(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

/// As a form: `+` is a space. What can't be decoded is text as it is.
std::string unescape(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  auto decoded = percent_decode(spaced);
  return decoded.ok() ? *std::move(decoded) : std::string(text);
}

Status parse_states(std::string_view text, ListQuery& out) {
  out.running = out.paused = false;
  for (const auto& state : split(text, ',')) {
    if (state == "running") out.running = true;
    else if (state == "paused") out.paused = true;
    else return bad_query("state is '" + state.substr(0, 80) + "'; running and paused are right");
  }
  return ok_status();
}

/// "MILLISECONDS__ID" in base64, as the name of the last sandbox of a page.
struct Place {
  std::int64_t started_ms = 0;
  std::string id;
};

std::string token_of(const Record& record) {
  auto text = base64_encode(std::to_string(record.started_ms) + "__" + record.id);
  while (!text.empty() && text.back() == '=') text.pop_back();
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

Result<Place> place_of(std::string token) {
  const Error wrong = bad_query("nextToken is '" + token.substr(0, 80) + "'; the X-Next-Token of the page before is right");
  std::replace(token.begin(), token.end(), '-', '+');
  std::replace(token.begin(), token.end(), '_', '/');
  while (token.size() % 4 != 0) token += '=';
  const auto text = base64_decode(token);
  if (!text.ok()) return wrong;
  const auto cut = text->find("__");
  if (cut == std::string::npos) return wrong;
  Place place;
  const auto [end, problem] = std::from_chars(text->data(), text->data() + cut, place.started_ms);
  if (problem != std::errc() || end != text->data() + cut) return wrong;
  place.id = text->substr(cut + 2);
  return place;
}

bool matches(const Record& record, const ListQuery& query) {
  if (query.started_after_ms && record.started_ms < *query.started_after_ms) return false;
  if (query.template_name) {
    const auto plain = plain_template_name(*query.template_name);
    if (record.extras.template_id != plain && record.extras.alias != plain) return false;
  }
  return std::all_of(query.metadata.begin(), query.metadata.end(), [&](const auto& wanted) {
    const auto it = record.extras.metadata.find(wanted.first);
    return it != record.extras.metadata.end() && it->second == wanted.second;
  });
}

bool before(std::int64_t a_ms, const std::string& a, std::int64_t b_ms, const std::string& b, bool ascending) {
  if (a_ms != b_ms) return ascending ? a_ms < b_ms : a_ms > b_ms;
  return ascending ? a < b : a > b;
}

}  // namespace

MetadataEncoding metadata_encoding(std::string_view user_agent) {
  const auto is = [&](std::string_view name) { return user_agent.find(name) != std::string_view::npos; };
  return is("e2b-python-sdk/") || is("e2b-js-sdk/") ? MetadataEncoding::twice : MetadataEncoding::once;
}

Result<std::map<std::string, std::string>> parse_metadata_filter(std::string_view text, MetadataEncoding encoding) {
  const auto plain = [&](std::string_view part) {
    return encoding == MetadataEncoding::once ? unescape(part) : unescape(unescape(part));
  };
  std::map<std::string, std::string> wanted;
  // Encoded as a whole once more than needed: its separators aren't there to be seen.
  const std::string whole = text.find('=') == std::string_view::npos ? unescape(text) : std::string(text);
  for (const auto& pair : split(whole, '&')) {
    if (pair.empty()) continue;
    const auto equals = pair.find('=');
    if (equals == std::string::npos) return bad_query("metadata has '" + pair.substr(0, 80) + "'; key=value pairs joined by & are right");
    wanted[plain(std::string_view(pair).substr(0, equals))] = plain(std::string_view(pair).substr(equals + 1));
  }
  return wanted;
}

Result<std::int64_t> parse_rfc3339(std::string_view given) {
  const std::string text(given);
  const Error wrong = bad_query("startedAfter is '" + text.substr(0, 80) + "'; a time such as 2026-11-29T15:21:56Z is right");
  std::tm parts{};
  const char* at = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (at == nullptr) return wrong;
  std::int64_t milliseconds = 0;
  if (*at == '.') {
    std::int64_t scale = 100;
    for (++at; *at >= '0' && *at <= '9'; ++at, scale /= 10) milliseconds += scale * (*at - '0');
  }
  std::int64_t offset_s = 0;
  const std::string_view zone(at);
  const bool has_offset = zone.size() == 6 && (zone[0] == '+' || zone[0] == '-' || zone[0] == ' ') && zone[3] == ':';
  if (has_offset) {
    // A query's `+` that wasn't encoded has become a space.
    const auto digits = [&](std::size_t i) { return (zone[i] - '0') * 10 + (zone[i + 1] - '0'); };
    offset_s = (digits(1) * 60 + digits(4)) * 60 * (zone[0] == '-' ? -1 : 1);
  } else if (zone != "Z" && zone != "z") {
    return wrong;
  }
  return (static_cast<std::int64_t>(::timegm(&parts)) - offset_s) * 1000 + milliseconds;
}

Result<ListQuery> parse_list_query(const http::Query& query, bool is_v1, MetadataEncoding encoding) {
  ListQuery out;
  out.paused = !is_v1;
  if (is_v1) out.limit = kAll;
  if (const auto text = query.get("metadata"); text && !text->empty()) {
    HARENA_TRY(out.metadata, parse_metadata_filter(*text, encoding));
  }
  if (const auto text = query.get("state"); text && !text->empty()) HARENA_TRY_STATUS(parse_states(*text, out));
  if (const auto text = query.get("startedAfter"); text && !text->empty()) {
    HARENA_TRY(out.started_after_ms, parse_rfc3339(*text));
  }
  if (const auto text = query.get("template"); text && !text->empty()) out.template_name = std::string(*text);
  const auto order = query.get("order").value_or("desc");
  if (order != "asc" && order != "desc") return bad_query("order is '" + std::string(order.substr(0, 80)) + "'; asc and desc are right");
  out.ascending = order == "asc";
  if (const auto text = query.get("limit"); text && !text->empty()) {
    HARENA_TRY(const auto limit, parse_int(*text, 1, kMaxLimit, "limit"));
    out.limit = static_cast<std::size_t>(limit);
  }
  out.token = std::string(query.get("nextToken").value_or(""));
  return out;
}

Result<ListPage> select_page(std::vector<Record> all, const ListQuery& query) {
  std::erase_if(all, [&](const Record& record) { return !matches(record, query); });
  ListPage page;
  page.running = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Record& one) { return !one.is_paused(); }));
  std::erase_if(all, [&](const Record& record) { return record.is_paused() ? !query.paused : !query.running; });
  std::sort(all.begin(), all.end(), [&](const Record& a, const Record& b) {
    return before(a.started_ms, a.id, b.started_ms, b.id, query.ascending);
  });
  if (!query.token.empty()) {
    HARENA_TRY(const auto last, place_of(query.token));
    std::erase_if(all, [&](const Record& one) { return !before(last.started_ms, last.id, one.started_ms, one.id, query.ascending); });
  }
  if (all.size() > query.limit) {
    all.resize(query.limit, all.front());
    page.next_token = token_of(all.back());
  }
  page.sandboxes = std::move(all);
  return page;
}

}  // namespace harena::e2b
