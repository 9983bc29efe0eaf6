#pragma once
// Limits as options of their own, the same ones for `create`, `run` and `resize`: --memory 2GiB is -p memory=2GiB.

#include <array>
#include <string>
#include <vector>

#include "core/cli/program.hpp"

namespace harena::cli {

class LimitOptions {
 public:
  /// Must live as long as `app`.
  void add_to(CLI::App& app);
  /// Those that were given, as key=value; their types are the backend's to say (typed_params).
  std::vector<std::string> pairs() const;

 private:
  static constexpr std::array kNames = {"cpu",          "cpu_weight",  "cpu_idle",     "cpuset",       "memory",
                                        "memory_high",  "swap",        "pids",         "disk",         "io_weight",
                                        "io_read_bps",  "io_write_bps", "io_read_iops", "io_write_iops"};
  std::array<std::string, kNames.size()> values_;
};

}  // namespace harena::cli
