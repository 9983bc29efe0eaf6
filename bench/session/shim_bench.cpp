// What a command costs at the shim: start, attach and exit of `true` inside a sandbox against posix_spawn + wait of the same, in turns.
// shim_bench [rounds [callers]]; HARENA_BUILD_DIR says where the shim is.

#include <spawn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/integration/session/namespace_fixture.hpp"

namespace harena::session {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::time_point since) { return std::chrono::duration<double, std::micro>(Clock::now() - since).count(); }

double bare_spawn() {
  auto begun = Clock::now();
  char name[] = "/bin/true";
  char* arguments[] = {name, nullptr};
  pid_t pid = -1;
  if (::posix_spawn(&pid, name, nullptr, nullptr, arguments, environ) != 0) std::abort();
  ::waitpid(pid, nullptr, 0);
  return microseconds(begun);
}

struct Figures {
  std::vector<double> all;
  double at(double share) {
    std::sort(all.begin(), all.end());
    return all[static_cast<std::size_t>(share * static_cast<double>(all.size() - 1))];
  }
};

http::Task<double> one_command(SessionClient client) {
  auto begun = Clock::now();
  StartRequest request;
  request.argv.emplace_back("/bin/true");
  auto result = co_await run(client, request);
  if (!result || result->exit.code != 0) {
    std::fprintf(stderr, "a command failed: %s\n", result ? "exit" : result.error().describe().c_str());
    std::abort();
  }
  co_return microseconds(begun);
}

double await_double(boost::asio::io_context& io, http::Task<double> task) {
  std::optional<double> out;
  io.restart();
  boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [](std::exception_ptr failure) {
    if (failure) std::abort();
  });
  while (!out) io.run_one();
  return *out;
}

void one_caller(boost::asio::io_context& io, SessionClient client, int rounds) {
  Figures bare, shim;
  for (int i = 0; i < rounds; ++i) {
    bare.all.push_back(bare_spawn());
    shim.all.push_back(await_double(io, one_command(client)));
  }
  std::printf("one caller: posix_spawn p50 %.0f p90 %.0f us; shim p50 %.0f p90 %.0f us; ratio %.2f\n", bare.at(.5), bare.at(.9), shim.at(.5),
              shim.at(.9), shim.at(.5) / bare.at(.5));
}

/// CPU time of a process and of the children that it waited for.
double cpu_us(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  unsigned long user = 0, system = 0, child_user = 0, child_system = 0;
  std::sscanf(text.c_str() + text.rfind(')') + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %lu %lu", &user, &system, &child_user,
              &child_system);
  return static_cast<double>(user + system + child_user + child_system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// The shim, what it waited for, and its spawner.
double cpu_of_shim(pid_t shim) {
  std::ifstream children("/proc/" + std::to_string(shim) + "/task/" + std::to_string(shim) + "/children");
  double sum = cpu_us(shim);
  for (pid_t child; children >> child;) sum += cpu_us(child);
  return sum;
}

double bare_rate(int rounds, int callers) {
  auto begun = Clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < callers; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < rounds / callers; ++k) bare_spawn();
    });
  }
  for (auto& thread : threads) thread.join();
  return rounds / (microseconds(begun) / 1e6);
}

http::Task<void> many_commands(SessionClient client, int rounds) {
  for (int i = 0; i < rounds; ++i) co_await one_command(client);
}

double shim_rate(boost::asio::io_context& io, SessionClient client, int rounds, int callers) {
  io.restart();
  auto begun = Clock::now();
  for (int i = 0; i < callers; ++i) boost::asio::co_spawn(io, many_commands(client, rounds / callers), boost::asio::detached);
  io.run();
  return rounds / (microseconds(begun) / 1e6);
}

}  // namespace
}  // namespace harena::session

int main(int argc, char** arguments) {
  using namespace harena::session;
  int rounds = argc > 1 ? std::atoi(arguments[1]) : 1000, callers = argc > 2 ? std::atoi(arguments[2]) : 64;
  NamespaceShim box;
  if (!box.why_not().empty() || !box.has_limits()) return std::puts("this host can't make the sandbox"), 1;
  boost::asio::io_context io{1};
  SessionClient client(Endpoint::over_unix(box.socket()));
  for (int turn = 0; turn < (callers > 1 ? 0 : 3); ++turn) one_caller(io, client, rounds);
  for (int turn = 0; turn < 2; ++turn) {
    double own = cpu_us(::getpid());
    double bare = bare_rate(rounds * 2, callers);
    own = (cpu_us(::getpid()) - own) / rounds / 2;
    double used = cpu_of_shim(box.pid());
    double shim = shim_rate(io, client, rounds * 2, callers);
    used = (cpu_of_shim(box.pid()) - used) / rounds / 2;
    std::printf("%d callers: posix_spawn %.0f/s, %.0f us of CPU each; shim %.0f/s, %.0f us of CPU each; rate %.0f %%, CPU x %.2f\n", callers,
                bare, own, shim, used, 100 * shim / bare, used / own);
  }
}
