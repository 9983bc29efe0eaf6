// Commands and their output of a running harenad beside the floors of the same machine, in turns.
//   exec_bench commands|output PORT TOKEN SANDBOX [ROUNDS [SIZE_MIB]]
//   exec_bench load PORT TOKEN SANDBOX SECONDS      the 64 callers alone, to look at them with perf
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string_view>

#include "bench/exec/contenders.hpp"

namespace harena::bench {
namespace {

constexpr double kSeconds = 5;

int run(std::string_view what, const Target& target, int rounds, std::size_t size) {
  if (what == "commands") {
    bench_commands(target, rounds, kSeconds);
  } else if (what == "output") {
    bench_output(target, rounds, size);
  } else if (what == "load") {
    bench_load(target, rounds);
  } else {
    std::fprintf(stderr, "exec_bench: unknown bench '%s'; known: commands, output, load\n", std::string(what).c_str());
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace harena::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: exec_bench commands|output|load PORT TOKEN SANDBOX [ROUNDS [SIZE_MIB]]\n");
    return 2;
  }
  try {
    const harena::bench::Target target{static_cast<std::uint16_t>(std::atoi(argv[2])), argv[3], argv[4]};
    const int rounds = argc > 5 ? std::atoi(argv[5]) : 5;
    const auto mib = static_cast<std::size_t>(argc > 6 ? std::atoi(argv[6]) : 1024);
    return harena::bench::run(argv[1], target, rounds, mib << 20);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "exec_bench: %s\n", error.what());
    return 1;
  }
}
