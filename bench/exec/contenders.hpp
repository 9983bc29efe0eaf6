#pragma once
// What is measured: a running harenad with one sandbox, beside the floors of the same machine. Each prints its own lines.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace harena::bench {

struct Target {
  std::uint16_t port = 0;
  std::string token;
  std::string sandbox;
  std::string path(const std::string& rest) const { return "/v1/sandboxes/" + sandbox + rest; }
};

/// exec of `true` (start, output, exit in one call) against posix_spawn + wait, in turns; then 64 callers against 64 threads.
void bench_commands(const Target& target, int rounds, double seconds);

/// The 64 callers alone for so long.
void bench_load(const Target& target, double seconds);

/// `size` bytes of output, spooled and read by one reader, against `cat | cat` into a file; in turns.
void bench_output(const Target& target, int rounds, std::size_t size);

double median(std::vector<double> values);

}  // namespace harena::bench
