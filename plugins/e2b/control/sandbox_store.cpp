#include "plugins/e2b/control/sandbox_store.hpp"

#include "sdk/base/text.hpp"
#include "sdk/digest/sha256.hpp"
#include "sdk/http/error.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kMaxKey = 128;  ///< of an idempotency key of Harena's

std::string target_of(const std::string& id) { return "/v1/sandboxes/" + percent_encode(id); }

/// What isn't an id of Harena's can't be anybody's sandbox.
Error in_words(Error error, const std::string& id) {
  const bool unknown = error.code == ErrorCode::not_found || error.code == ErrorCode::invalid_argument;
  return unknown ? no_such_sandbox(id) : error;
}

}  // namespace

Task<Result<json>> SandboxStore::ask(std::string method, std::string target, json body) {
  co_return co_await services_.api.ask(std::move(method), std::move(target), key_, std::move(body));
}

Task<Result<Record>> SandboxStore::living(std::string id) {
  auto sandbox = co_await ask("GET", target_of(id));
  if (!sandbox.ok()) co_return in_words(std::move(sandbox).error(), id);
  HARENA_CO_TRY(auto record, record_from(*sandbox));
  if (!record.is_living()) co_return no_such_sandbox(id);
  co_return record;
}

Task<Result<std::vector<Record>>> SandboxStore::all_living(std::optional<std::string> template_id) {
  std::vector<Record> found;
  std::string base = "/v1/sandboxes?limit=1000&state=running,pausing,paused,resuming&label=" + percent_encode(std::string("frontend=") + kPluginId);
  if (template_id) base += "&label=" + percent_encode(std::string(kTemplateLabel) + "=" + *template_id);
  std::string cursor;
  do {
    const auto target = cursor.empty() ? base : base + "&cursor=" + percent_encode(cursor);
    HARENA_CO_TRY(const auto page, co_await ask("GET", target));
    for (const auto& sandbox : page.value("sandboxes", json::array())) {
      auto record = record_from(sandbox);
      if (record.ok()) found.push_back(*std::move(record));  // what can't be read isn't E2B's
    }
    cursor = page.value("next_cursor", "");
  } while (!cursor.empty());
  co_return found;
}

Task<Result<Record>> SandboxStore::act(std::string id, std::string verb) {
  const json none = json::object();
  auto sandbox = co_await ask("POST", target_of(id) + "/" + verb, none);
  if (!sandbox.ok()) co_return in_words(std::move(sandbox).error(), id);
  co_return record_from(*sandbox);
}

Task<Result<Record>> SandboxStore::update(std::string id, json changes) {
  auto sandbox = co_await ask("PATCH", target_of(id), std::move(changes));
  if (!sandbox.ok()) {
    const bool ended = sandbox.error().code == ErrorCode::not_found || sandbox.error().code == ErrorCode::failed_precondition;
    co_return ended ? no_such_sandbox(id) : std::move(sandbox).error();
  }
  co_return record_from(*sandbox);
}

Task<Result<Record>> SandboxStore::create(std::string backend, json body, std::string idempotency_key) {
  if (!idempotency_key.empty()) {
    body["idempotency_key"] = idempotency_key.size() <= kMaxKey ? idempotency_key : sha256_hex(idempotency_key);
  }
  HARENA_CO_TRY(const auto sandbox, co_await ask("POST", "/v1/backends/" + percent_encode(backend) + "/sandboxes", std::move(body)));
  co_return record_from(sandbox);
}

Task<Result<json>> SandboxStore::usage(std::string id) { co_return co_await ask("GET", target_of(id) + "/usage"); }

Task<Result<std::string>> SandboxStore::project() {
  HARENA_CO_TRY(const auto caller, co_await ask("GET", "/v1/whoami"));
  co_return caller.value("project", "root");
}

}  // namespace harena::e2b
