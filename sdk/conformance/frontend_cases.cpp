// Level 2, harena.frontend/1. The configuration must let it listen on a free port of this machine: --config '{"listen": "127.0.0.1:0"}'.

#include <chrono>
#include <thread>

#include "sdk/conformance/api_double.hpp"
#include "sdk/conformance/backend_kit.hpp"
#include "sdk/conformance/case.hpp"
#include "sdk/conformance/process_facts.hpp"
#include "sdk/http/client.hpp"
#include "sdk/http/task.hpp"

namespace harena::conformance {
namespace {

const std::string kFrontendContract = HARENA_FRONTEND_CONTRACT;
constexpr int kRounds = 10;
constexpr int kParallel = 32;
constexpr int kSettleSteps = 200;
constexpr std::chrono::milliseconds kSettleStep{10};

/// A frontend with an API behind it. The instance ends before its host.
class FrontendRun {
 public:
  explicit FrontendRun(Context& c) : c_(c), api_(std::make_unique<ApiDouble>()) {
    c_.host().offer(HARENA_HOST_API_SERVICE, api_->table());
    instance_ = c_.instance();
    driver_.emplace(c_.need(FrontendDriver::of(*instance_), "its functions"));
  }
  ~FrontendRun() { instance_.reset(); }

  const FrontendDriver* operator->() const { return &*driver_; }
  ApiDouble& api() { return *api_; }
  void destroy() { instance_.reset(); }
  /// The first address; start succeeded.
  http::Endpoint start() {
    const json result = c_.need((*this)->start(), "start");
    const json listen = result.value("listen", json::array());
    c_.require(listen.is_array() && !listen.empty() && listen[0].is_string(), "start's result has no \"listen\": " + result.dump());
    return endpoint_of(listen.back().get<std::string>());
  }

 private:
  http::Endpoint endpoint_of(const std::string& url) const {
    const auto host = url.find("://");
    const auto port = url.rfind(':');
    c_.require(host != std::string::npos && port > host, "'" + url + "' isn't SCHEME://ADDRESS:PORT");
    return http::Endpoint::tcp(url.substr(host + 3, port - host - 3), static_cast<std::uint16_t>(std::stoi(url.substr(port + 1))));
  }
  Context& c_;
  std::unique_ptr<ApiDouble> api_;
  std::unique_ptr<loader::Instance> instance_;
  std::optional<FrontendDriver> driver_;
};

http::Task<void> ask_into(http::Endpoint where, std::optional<Result<http::FetchResponse>>& out) {
  http::Client client({.endpoint = std::move(where)});
  http::FetchRequest request{.method = "GET", .target = "/harena-plugin-check", .headers = {}, .body = {}};
  request.headers.add("Authorization", "Bearer kit");
  auto answer = client.fetch(std::move(request));
  out.emplace(co_await http::with_timeout(std::move(answer), std::chrono::seconds(10), "an answer"));
}

Result<http::FetchResponse> ask(const http::Endpoint& where) {
  boost::asio::io_context loop;
  std::optional<Result<http::FetchResponse>> answer;
  boost::asio::co_spawn(loop, ask_into(where, answer), [](std::exception_ptr) {});
  loop.run();
  return answer ? *std::move(answer) : Result<http::FetchResponse>(make_error(ErrorCode::internal, "no answer"));
}

void listens_and_answers(Context& c) {
  FrontendRun run(c);
  const auto where = run.start();
  const auto answer = c.need(ask(where), "a GET on the address that start gave");
  c.require(answer.status >= 100 && answer.status < 600, "the answer's status is " + std::to_string(answer.status));
  c.need(run->drain(), "drain");
  c.require(!ask(where).ok(), "it still answers after drain");
}

void starts_once(Context& c) {
  FrontendRun run(c);
  const auto where = run.start();
  c.need_error(run->start(), ErrorCode::failed_precondition, "a second start");
  c.need(ask(where), "a GET after the second start");
}

void drain_is_idempotent(Context& c) {
  FrontendRun run(c);
  c.need(run->drain(), "drain before start");
  run.start();
  c.need(run->drain(), "drain");
  c.need(run->drain(), "a second drain");
  c.need(ask(run.start()), "a GET after start, drain, start");
}

void drain_past_its_deadline(Context& c) {
  FrontendRun run(c);
  const auto where = run.start();
  CallOptions late;
  late.deadline_ns = 1;
  c.need(run->drain(std::move(late)), "drain with a past deadline");
  c.require(!ask(where).ok(), "it still answers after a drain with a past deadline");
}

void leaves_nothing(Context& c) {
  FrontendRun run(c);
  run.start();  // what is made once for a process is made
  c.need(run->drain(), "drain");
  const auto threads = thread_count();
  const auto descriptors = open_descriptors().size();
  for (int i = 0; i < kRounds; ++i) {
    const auto where = run.start();
    c.need(ask(where), "a GET");
    c.need(run->drain(), "drain");
  }
  // The kit's API hears of the last hang-up in its own time.
  for (int i = 0; i < kSettleSteps && open_descriptors().size() > descriptors; ++i) std::this_thread::sleep_for(kSettleStep);
  c.require(thread_count() <= threads, std::to_string(thread_count() - threads) + " threads outlive drain");
  c.require(open_descriptors().size() <= descriptors, std::to_string(open_descriptors().size() - descriptors) + " descriptors outlive drain");
}

void destroy_ends_it(Context& c) {
  FrontendRun run(c);
  const auto threads = thread_count();
  const auto where = run.start();
  run.destroy();
  c.require(thread_count() <= threads, "threads outlive destroy");
  c.require(!ask(where).ok(), "it still answers after destroy");
}

void says_when_there_is_no_api(Context& c) {
  FrontendRun run(c);
  const auto where = run.start();
  c.need(ask(where), "a GET while the API is up");
  run.api().take_down();
  c.need(ask(where), "a GET while the API is down");
}

void needs_the_service(Context& c) {
  FrontendRun run(c);
  c.host().offer(HARENA_HOST_API_SERVICE, nullptr);
  const auto refused = run->start();
  c.require(!refused.ok(), "start succeeded on a host without harena.host.api/1");
  c.host().offer(HARENA_HOST_API_SERVICE, run.api().table());
  c.need(ask(run.start()), "a GET after a start that failed before");
}

void answers_many_at_once(Context& c) {
  FrontendRun run(c);
  const auto where = run.start();
  boost::asio::io_context loop;
  std::vector<std::optional<Result<http::FetchResponse>>> answers(kParallel);
  for (auto& answer : answers) boost::asio::co_spawn(loop, ask_into(where, answer), [](std::exception_ptr) {});
  loop.run();
  for (auto& answer : answers) c.require(answer && answer->ok(), "one of 32 requests at once has no answer");
}

void metrics_are_well_formed(Context& c) {
  FrontendRun run(c);
  if (run->table.metrics == nullptr) c.skip("the frontend has no metrics");
  c.need(run->metrics(), "metrics before start");
  c.need(ask(run.start()), "a GET");
  const json result = c.need(run->metrics(), "metrics");
  for (const auto& metric : result.value("metrics", json::array())) {
    const auto name = metric.value("name", "");
    c.require(name.starts_with("harena_"), "a metric is called '" + name + "'; harena_ and the plugin's name is right");
    const auto type = metric.value("type", "");
    c.require(type == "counter" || type == "gauge", "'" + name + "' has the type '" + type + "'; counter or gauge are right");
    c.require(metric.contains("series") && metric["series"].is_array(), "'" + name + "' has no array \"series\"");
  }
}

}  // namespace

std::vector<Case> frontend_cases() {
  return {
      {"frontend_listens_and_answers", 2, kFrontendContract, "start listens on the addresses that it gives; drain ends that", listens_and_answers},
      {"frontend_starts_once", 2, kFrontendContract, "a second start is failed_precondition and disturbs nothing", starts_once},
      {"frontend_drain_is_idempotent", 2, kFrontendContract, "drain succeeds before start and twice; start works again after it", drain_is_idempotent},
      {"frontend_drain_past_its_deadline", 2, kFrontendContract, "a drain that is late drains all the same", drain_past_its_deadline},
      {"frontend_leaves_nothing", 2, kFrontendContract, "no thread or descriptor outlives drain", leaves_nothing},
      {"frontend_destroy_ends_it", 2, kFrontendContract, "destroy ends a frontend that nobody drained", destroy_ends_it},
      {"frontend_without_the_api", 2, kFrontendContract, "requests are answered while the API is down", says_when_there_is_no_api},
      {"frontend_needs_the_service", 2, kFrontendContract, "start fails on a host without harena.host.api/1, and can be repeated", needs_the_service},
      {"frontend_many_at_once", 2, kFrontendContract, "32 requests at once are all answered", answers_many_at_once},
      {"frontend_metrics", 2, kFrontendContract, "metrics have names, types and series", metrics_are_well_formed},
  };
}

}  // namespace harena::conformance
