#pragma once
// The lists of sandboxes: which, in which order, which page. Pure.

#include <optional>
#include <string>
#include <vector>

#include "plugins/e2b/record.hpp"
#include "sdk/http/target.hpp"

namespace harena::e2b {

struct ListQuery {
  std::map<std::string, std::string> metadata;  ///< all must match exactly
  bool running = true;
  bool paused = true;
  std::optional<std::int64_t> started_after_ms;  ///< inclusive
  std::optional<std::string> template_name;
  bool ascending = false;
  std::size_t limit = 100;
  std::string token;
};

/// How often the keys and values of a metadata filter are encoded before the whole is put into a query: E2B's SDKs do it
/// once more than the protocol's description says, and from the text alone nobody could tell.
enum class MetadataEncoding { once, twice };
MetadataEncoding metadata_encoding(std::string_view user_agent);

/// invalid_argument names the parameter and what would be right. `is_v1`: running ones only, and no pages.
Result<ListQuery> parse_list_query(const http::Query& query, bool is_v1, MetadataEncoding encoding = MetadataEncoding::once);

struct ListPage {
  std::vector<Record> sandboxes;
  std::string next_token;  ///< empty: the last page
  std::size_t running = 0; ///< of all that match, on whatever page
};

/// invalid_argument for a token that isn't one of ours.
Result<ListPage> select_page(std::vector<Record> all, const ListQuery& query);

/// `k=v` pairs joined by `&`, each part encoded. Without any `=` the whole is taken for encoded once more.
Result<std::map<std::string, std::string>> parse_metadata_filter(std::string_view text, MetadataEncoding encoding = MetadataEncoding::once);
/// "2026-11-29T15:21:56.133Z", also with an offset: milliseconds since 1970.
Result<std::int64_t> parse_rfc3339(std::string_view text);

}  // namespace harena::e2b
