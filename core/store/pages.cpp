#include "core/store/pages.hpp"

#include "core/store/keys.hpp"

namespace harena {

using nlohmann::json;

Status for_each_entry(StateStore& store, const CallContext& call, std::string_view prefix, std::string start,
                      const std::function<Result<bool>(const StateEntry&)>& each) {
  if (start.empty()) start = prefix;
  const std::string end = keys::after_prefix(prefix);
  while (true) {
    HARENA_TRY(const auto page, store.range(call, start, end, kPageEntries));
    for (const auto& entry : page) {
      HARENA_TRY(const bool more, each(entry));
      if (!more) return ok_status();
    }
    if (static_cast<std::int64_t>(page.size()) < kPageEntries) return ok_status();
    start = keys::successor(page.back().key);
  }
}

Result<json> parse_record(const StateEntry& entry) {
  auto value = json::parse(entry.value, nullptr, false);
  if (!value.is_discarded()) return value;
  return make_error(ErrorCode::data_loss, "the record '" + entry.key + "' is not JSON");
}

std::string record_text(const json& value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace harena
