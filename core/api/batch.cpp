#include "core/api/batch.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <atomic>
#include <deque>

#include "core/api/sandbox_routes.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/http/async_event.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/ndjson.hpp"

namespace harena {

using http::Task;
using nlohmann::json;

namespace {

/// Shared by the creates of a batch and the coroutine that writes the answer; all on one event loop, so no lock.
struct Batch {
  std::vector<json> requests;
  std::string backend;
  Principal principal;
  CallContext context;
  std::size_t next = 0;
  std::size_t under_way = 0;
  bool abandoned = false;
  /// While the server drains nothing new is begun.
  std::shared_ptr<const std::atomic<bool>> draining;
  std::deque<std::string> lines;
  http::AsyncEvent ready;
};
using BatchPtr = std::shared_ptr<Batch>;

std::string result_line(std::size_t index, const Result<Sandbox>& created) {
  json line = {{"index", index}};
  if (created.ok()) {
    line["sandbox"] = to_public_json(*created);
  } else {
    line.update(http::error_document(created.error()));
  }
  return http::ndjson_line(line);
}

/// One of up to kBatchWindow workers: takes the next request until there is none.
Task<void> work(ApiServices& services, BatchPtr batch) {
  while (!batch->abandoned && batch->next < batch->requests.size()) {
    const std::size_t index = batch->next++;
    if (batch->draining && *batch->draining) {
      batch->lines.push_back(result_line(index, http::stopping_error()));
      continue;
    }
    const auto created = co_await create_sandbox(services, batch->principal, batch->context, batch->backend,
                                                 std::move(batch->requests[index]));
    batch->lines.push_back(result_line(index, created));
    batch->ready.notify();
  }
  --batch->under_way;
  batch->ready.notify();
}

/// Tells the workers to stop when the answer can't be written any more, however that is noticed.
struct AbandonOnExit {
  BatchPtr batch;
  ~AbandonOnExit() { batch->abandoned = true; }
};

}  // namespace

Result<std::vector<json>> parse_batch(const json& body) {
  JsonFields fields(body, "the batch");
  const bool has_request = fields.has("request");
  HARENA_TRY(const auto count, fields.integer("count", 0, 1, kMaxBatch));
  HARENA_TRY(auto request, fields.object("request"));
  const bool has_requests = fields.has("requests");
  if (has_requests == (has_request || count > 0)) {
    return make_error(ErrorCode::invalid_argument, "a batch has either 'requests' or 'count' and 'request'");
  }
  if (has_requests) {
    const auto& requests = body.at("requests");
    if (!requests.is_array() || requests.empty() || requests.size() > kMaxBatch) {
      return make_error(ErrorCode::invalid_argument, "'requests' must be an array of 1 to 10000 create requests");
    }
    return requests.get<std::vector<json>>();
  }
  HARENA_TRY_STATUS(fields.finish());
  std::vector<json> requests(static_cast<std::size_t>(count > 0 ? count : 1), request);
  if (const auto key = request.find("idempotency_key"); key != request.end() && key->is_string()) {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      requests[i]["idempotency_key"] = key->get<std::string>() + "-" + std::to_string(i);
    }
  }
  return requests;
}

Task<Result<Reply>> run_batch(ApiServices& services, ApiCall& call, std::vector<json> requests) {
  auto batch = std::make_shared<Batch>();
  batch->requests = std::move(requests);
  batch->backend = call.request.param("backend");
  batch->principal = call.principal;
  batch->context = call.context;
  batch->draining = call.request.drain_flag();
  HARENA_CO_TRY_STATUS(co_await http::begin_ndjson(call.response));
  const AbandonOnExit abandon{batch};
  const auto executor = co_await boost::asio::this_coro::executor;
  batch->under_way = std::min(kBatchWindow, batch->requests.size());
  for (std::size_t i = batch->under_way; i > 0; --i) {
    boost::asio::co_spawn(executor, work(services, batch), boost::asio::detached);
  }
  for (;;) {
    const auto seen = batch->ready.generation();
    while (!batch->lines.empty()) {
      const std::string line = std::move(batch->lines.front());
      batch->lines.pop_front();
      HARENA_CO_TRY_STATUS(co_await call.response.write(line));
    }
    if (batch->under_way == 0 && batch->lines.empty()) break;
    if (batch->ready.generation() == seen) co_await batch->ready.wait_past(seen);
  }
  HARENA_CO_TRY_STATUS(co_await call.response.finish());
  co_return Reply::already_sent();
}

}  // namespace harena
