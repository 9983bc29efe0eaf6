// microvm_guest_bench [BOOTS [ROUNDS]]: boot to ready and exec of harena-guest, each beside the bare machine (bare_init.cpp) on this host.
//
// Prints one line a number: name, median of ours, median of the bare one, ratio. The promises: boot at most 1.2, exec at most 2.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "sdk/session/client/session_client.hpp"
#include "tests/guest/machine.hpp"

namespace harena::bench {
namespace {

using namespace session;
using guest_test::Machine;
using guest_test::MachineOptions;
using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point begin) { return std::chrono::duration<double, std::milli>(Clock::now() - begin).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

void print(const char* name, const std::vector<double>& ours, const std::vector<double>& bare) {
  std::printf("%-40s %9.2f ms   bare %9.2f ms   ratio %.2f\n", name, median(ours), median(bare), median(ours) / median(bare));
  std::fflush(stdout);
}

class BareMachine {
 public:
  BareMachine() : machine_(options()), channel_(machine_.connect_channel()) {
    (void)read_byte();
    boot_ms_ = ms_since(machine_.started());
  }
  double boot_ms() const { return boot_ms_; }
  double round_trip(char what) {
    const auto begin = Clock::now();
    (void)!::send(channel_.get(), &what, 1, MSG_NOSIGNAL);
    (void)read_byte();
    return ms_since(begin);
  }

 private:
  static MachineOptions options() {
    MachineOptions options;
    options.init = "microvm_bare_init";
    options.bridge = false;
    return options;
  }
  char read_byte() {
    char byte = 0;
    if (::recv(channel_.get(), &byte, 1, 0) != 1) std::fprintf(stderr, "the bare machine is gone\n"), std::exit(1);
    return byte;
  }
  Machine machine_;
  UniqueFd channel_;
  double boot_ms_ = 0;
};

class OurMachine {
 public:
  OurMachine() {
    auto answer = machine_.configure(Machine::plain_request());
    if (!answer.ok()) std::fprintf(stderr, "%s\n%s\n", answer.error().describe().c_str(), machine_.console().c_str()), std::exit(1);
    boot_ms_ = ms_since(machine_.started());
    answer_ = *answer;
  }
  double boot_ms() const { return boot_ms_; }
  const ConfigureAnswer& answer() const { return answer_; }
  Machine& machine() { return machine_; }

 private:
  Machine machine_;
  double boot_ms_ = 0;
  ConfigureAnswer answer_;
};

template <class T>
T await(boost::asio::io_context& io, Task<T> task) {
  std::optional<T> out;
  io.restart();
  boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [](std::exception_ptr) {});
  while (!out) io.run_one();
  return std::move(*out);
}

Task<Status> run_once(SessionClient client, std::vector<std::string> words) {
  StartRequest request;
  request.argv = std::move(words);
  HARENA_CO_TRY(auto attached, co_await client.start_attached(std::move(request)));
  while (true) {
    HARENA_CO_TRY(auto event, co_await attached.output.next());
    if (event.kind == OutputEvent::Kind::end) co_return ok_status();
  }
}

std::vector<double> exec_times(Machine& machine, int rounds, const std::vector<std::string>& words) {
  boost::asio::io_context io(1);
  SessionClient client(Endpoint::over_unix(machine.session_socket()));
  std::vector<double> times;
  for (int i = 0; i < rounds + 10; ++i) {
    const auto begin = Clock::now();
    auto status = await(io, run_once(client, words));
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.error().describe().c_str()), std::exit(1);
    if (i >= 10) times.push_back(ms_since(begin));
  }
  return times;
}

std::vector<double> stats_times(Machine& machine, int rounds) {
  boost::asio::io_context io(1);
  SessionClient client(Endpoint::over_unix(machine.session_socket()));
  std::vector<double> times;
  for (int i = 0; i < rounds + 10; ++i) {
    const auto begin = Clock::now();
    (void)await(io, client.stats());
    if (i >= 10) times.push_back(ms_since(begin));
  }
  return times;
}

void boots(int count) {
  std::vector<double> ours, bare;
  ConfigureAnswer last;
  for (int i = 0; i < count; ++i) {
    bare.push_back(BareMachine().boot_ms());
    OurMachine machine;
    ours.push_back(machine.boot_ms());
    last = machine.answer();
  }
  print("boot to ready", ours, bare);
  std::printf("  of ours: kernel %.1f ms, agent %.1f ms, configure %.1f ms (the guest's clock, last boot)\n", static_cast<double>(last.kernel_us) / 1000,
              static_cast<double>(last.agent_us) / 1000, static_cast<double>(last.configure_us) / 1000);
}

void execs(int rounds) {
  BareMachine bare;
  OurMachine ours;
  std::vector<double> echo, spawn;
  for (int i = 0; i < rounds; ++i) echo.push_back(bare.round_trip('e'));
  for (int i = 0; i < rounds; ++i) spawn.push_back(bare.round_trip('x'));
  print("question to the shim, echo of a byte", stats_times(ours.machine(), rounds), echo);
  print("exec of true, start of a static program", exec_times(ours.machine(), rounds, {"/bin/true"}), spawn);
}

}  // namespace
}  // namespace harena::bench

int main(int argc, char** argv) {
  if (auto missing = harena::guest_test::what_is_missing(); !missing.empty()) return std::printf("skipped: %s\n", missing.c_str()), 77;
  harena::bench::boots(argc > 1 ? std::atoi(argv[1]) : 3);
  harena::bench::execs(argc > 2 ? std::atoi(argv[2]) : 100);
  return 0;
}
