#include "plugins/e2b/control/list_calls.hpp"

#include "plugins/e2b/control/list_query.hpp"
#include "plugins/e2b/control/sandbox_store.hpp"

namespace harena::e2b {

using nlohmann::json;

namespace {

AnswerTask list(ControlCall& call, bool is_v1) {
  HARENA_CO_TRY(const auto query, call.request.query());
  const auto encoding = metadata_encoding(call.request.header("User-Agent").value_or(""));
  HARENA_CO_TRY(const auto wanted, parse_list_query(query, is_v1, encoding));
  SandboxStore store(call.services, call.key);
  HARENA_CO_TRY(auto all, co_await store.all_living());
  HARENA_CO_TRY(const auto page, select_page(std::move(all), wanted));
  Answer answer{200, json::array()};
  for (const auto& record : page.sandboxes) answer.body.push_back(listed_json(record));
  if (!page.next_token.empty()) answer.headers.set("X-Next-Token", page.next_token);
  answer.headers.set("X-Total-Running", std::to_string(page.running));
  co_return answer;
}

}  // namespace

AnswerTask list_sandboxes_v2(ControlCall& call) { return list(call, false); }
AnswerTask list_sandboxes_v1(ControlCall& call) { return list(call, true); }

}  // namespace harena::e2b
