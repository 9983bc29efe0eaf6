#include "core/api/event_routes.hpp"

#include <algorithm>

#include "core/iam/permission.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

constexpr std::int64_t kMaxEventsListed = 1'000;

struct EventListing {
  EventFilter filter;
  std::string cursor;
  std::int64_t limit = 100;
};

Result<std::vector<std::string>> parse_types(std::string_view text) {
  std::vector<std::string> types;
  for (const auto& name : split(text, ',')) {
    if (std::find(kEventTypes.begin(), kEventTypes.end(), name) == kEventTypes.end()) {
      return make_error(ErrorCode::invalid_argument, "type '" + name + "' is no type of event" + suggestion(name, kEventTypes) +
                                                         "; there are limit_reached and sandbox_weakened");
    }
    types.push_back(name);
  }
  return types;
}

Result<EventListing> parse_event_listing(const ApiCall& call) {
  HARENA_TRY(const auto query, call.request.query());
  EventListing listing;
  listing.filter.project = call.principal.project;
  if (const auto project = query.get("project")) {
    HARENA_TRY(listing.filter.project, ProjectPath::parse(*project));
  }
  if (const auto types = query.get("type")) {
    HARENA_TRY(listing.filter.types, parse_types(*types));
  }
  if (const auto sandbox = query.get("sandbox")) {
    HARENA_TRY(const auto id, SandboxId::parse(*sandbox));
    listing.filter.sandbox_id = id.str();
  }
  listing.cursor = query.get("cursor").value_or("");
  HARENA_TRY(listing.limit, parse_int(query.get("limit").value_or("100"), 1, kMaxEventsListed, "limit"));
  return listing;
}

}  // namespace

void EventRoutes::add_to(ApiRouter& router) {
  router.add("GET", "/v1/events", "list_events", "What was weakened, what reached a limit", this, &EventRoutes::list);
}

http::Task<Result<Reply>> EventRoutes::list(ApiCall& call) {
  HARENA_CO_TRY(const auto listing, parse_event_listing(call));
  HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::sandbox_read, listing.filter.project));
  if (services_.events == nullptr) co_return make_error(ErrorCode::unimplemented, "this server keeps no trail of events");
  HARENA_CO_TRY(const auto page, co_await http::blocking(services_.workers, [&] {
    return services_.events->list(call.context, listing.filter, listing.cursor, listing.limit);
  }));
  json events = json::array();
  for (const auto& event : page.events) events.push_back(to_json(event));
  json body = {{"events", std::move(events)}, {"next_cursor", page.next_cursor}};
  co_return Reply{200, std::move(body)};
}

}  // namespace harena
