// sdk/http's server with routing and a JSON answer, beside Beast's bare hello of the same size; interleaved, one core each for the
// server and the load. Prints one line a contender: median of the rounds.
//   http_bench [ROUNDS]                                 sdk/http in this process
//   http_bench ROUNDS PORT TARGET TOKEN BODY_BYTES      a running harenad
#include <boost/asio/post.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "bench/http/beast_hello.hpp"
#include "bench/http/load.hpp"
#include "sdk/http/router.hpp"

namespace harena::bench {
namespace {

nlohmann::json sandbox(const std::string& id) {
  return {{"id", id}, {"backend", "container"}, {"state", "running"}, {"project", "root"}, {"task", "bench"},
          {"image", "root/base:v1"}, {"labels", {{"a", "b"}}}, {"idle_ttl_s", 300}, {"created_ms", 1700000000000}};
}

http::Task<Status> get_sandbox(http::Request& request, http::ResponseWriter& response) {
  const auto body = sandbox(request.param("id"));
  co_return co_await response.send_json(200, body);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void print(const char* name, const std::vector<Measured>& rounds) {
  std::vector<double> rates, p50, p99;
  for (const auto& round : rounds) {
    rates.push_back(round.per_second);
    p50.push_back(round.p50_us);
    p99.push_back(round.p99_us);
  }
  std::printf("%-28s %9.0f requests/s   p50 %6.0f us   p99 %6.0f us\n", name, median(rates), median(p50), median(p99));
}

/// harenad itself (started by bench/run.sh on CPU 0) beside the bare hello.
int run_api(int rounds, std::uint16_t port, const std::string& target, const std::string& token, std::size_t body_bytes) {
  http::IoThreads floor(1);
  boost::asio::post(floor.at(0), [] { pin_to_cpu(0); });
  Load api{port, target};
  api.token = token;
  Load bare{start_beast_hello(floor.at(0), body_bytes), "/"};
  pin_to_cpu(1);
  std::vector<Measured> api_rounds, bare_rounds;
  for (int i = 0; i < rounds; ++i) {
    api_rounds.push_back(run_load(api));
    bare_rounds.push_back(run_load(bare));
  }
  print("harenad, GET a sandbox", api_rounds);
  print("Beast's bare hello", bare_rounds);
  return 0;
}

int run(int rounds) {
  http::Router router;
  http::Route route;
  route.method = "GET";
  route.pattern = "/v1/sandboxes/{id}";
  route.handler = get_sandbox;
  if (!router.add(std::move(route)).ok()) return 1;
  http::IoThreads ours(1);
  http::IoThreads floor(1);
  for (auto* threads : {&ours, &floor}) boost::asio::post(threads->at(0), [] { pin_to_cpu(0); });
  http::ServerOptions options;
  options.tcp = {{"127.0.0.1", 0, nullptr}};
  auto server = http::Server::start(ours, options, router.handler());
  if (!server.ok()) throw std::runtime_error(server.error().describe());
  const auto id = std::string("ab12z0123456789abcde");
  Load own{(*server)->port(), "/v1/sandboxes/" + id};
  Load bare{start_beast_hello(floor.at(0), sandbox(id).dump().size()), "/"};
  pin_to_cpu(1);
  std::vector<Measured> own_rounds, bare_rounds;
  for (int i = 0; i < rounds; ++i) {
    own_rounds.push_back(run_load(own));
    bare_rounds.push_back(run_load(bare));
  }
  print("sdk/http, router, JSON", own_rounds);
  print("Beast's bare hello", bare_rounds);
  return 0;
}

}  // namespace
}  // namespace harena::bench

int main(int argc, char** argv) {
  try {
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 5;
    if (argc == 6) {
      return harena::bench::run_api(rounds, static_cast<std::uint16_t>(std::atoi(argv[2])), argv[3], argv[4],
                                    static_cast<std::size_t>(std::atoi(argv[5])));
    }
    return harena::bench::run(rounds);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "http_bench: %s\n", error.what());
    return 1;
  }
}
