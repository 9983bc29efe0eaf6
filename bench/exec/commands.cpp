#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <functional>
#include <thread>

#include "bench/exec/blocking_http.hpp"
#include "bench/exec/contenders.hpp"

namespace harena::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kCallers = 64;

double micros_since(Clock::time_point begun) { return std::chrono::duration<double, std::micro>(Clock::now() - begun).count(); }

void spawn_true() {
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  char* environment[] = {nullptr};
  pid_t pid = -1;
  if (::posix_spawn(&pid, name, nullptr, nullptr, arguments, environment) != 0) std::abort();
  ::waitpid(pid, nullptr, 0);
}

void exec_true(BlockingHttp& http, const Target& target) {
  const auto answer = http.call("POST", target.path("/commands"), R"({"argv":["/bin/true"],"wait":true})");
  if (answer.find("\"code\":0") == std::string::npos) throw std::runtime_error(answer);
}

/// Calls a second of 64 threads that each run what `make` made for them.
double rate(double seconds, const std::function<std::function<void()>()>& make) {
  std::atomic<bool> over{false};
  std::atomic<std::int64_t> calls{0};
  std::vector<std::jthread> threads;
  const auto begun = Clock::now();
  for (int i = 0; i < kCallers; ++i) {
    threads.emplace_back([&, one = make()] {
      for (; !over; ++calls) one();
    });
  }
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  over = true;
  threads.clear();
  return static_cast<double>(calls) / (micros_since(begun) / 1e6);
}

double rate_of_callers(const Target& target, double seconds) {
  return rate(seconds, [&] {
    auto http = std::make_shared<BlockingHttp>(target.port, target.token);
    return [http, &target] { exec_true(*http, target); };
  });
}

/// CPU time of this process and of the children that it waited for.
double own_cpu_micros() {
  double sum = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    ::getrusage(who, &usage);
    for (const auto& time : {usage.ru_utime, usage.ru_stime}) sum += static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  }
  return sum;
}

void bench_latency(const Target& target, int rounds) {
  BlockingHttp http(target.port, target.token);
  std::vector<double> floor, ours;
  for (int i = 0; i < rounds; ++i) {
    auto begun = Clock::now();
    spawn_true();
    floor.push_back(micros_since(begun));
    begun = Clock::now();
    exec_true(http, target);
    ours.push_back(micros_since(begun));
  }
  std::printf("exec of true through HTTP    %7.0f us   posix_spawn + wait %7.0f us   %.2f times (medians of %d)\n",
              median(ours), median(floor), median(ours) / median(floor), rounds);
}

void bench_callers(const Target& target, double seconds) {
  std::vector<double> floor, ours, client;
  for (int i = 0; i < 3; ++i) {
    floor.push_back(rate(seconds, [] { return spawn_true; }));
    const double before = own_cpu_micros();
    ours.push_back(rate_of_callers(target, seconds));
    client.push_back((own_cpu_micros() - before) / (ours.back() * seconds));
  }
  std::printf("%d callers, exec of true    %7.0f /s   posix_spawn + wait %7.0f /s   %.0f %%   (%.0f us of each call are the client's CPU time)\n",
              kCallers, median(ours), median(floor), 100 * median(ours) / median(floor), median(client));
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.at(values.size() / 2);
}

void bench_commands(const Target& target, int rounds, double seconds) {
  bench_latency(target, rounds);
  bench_callers(target, seconds);
}

void bench_load(const Target& target, double seconds) {
  std::printf("%d callers, exec of true    %7.0f /s\n", kCallers, rate_of_callers(target, seconds));
}

}  // namespace harena::bench
