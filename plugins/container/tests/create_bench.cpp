// How long create, a first command and stop take, and where create's time goes, beside the bare floor (clone with all
// namespaces, overlay, pivot_root, exec) in the same run: container_create_bench [rounds]

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "plugins/container/tests/bare_floor.hpp"
#include "plugins/container/tests/fixture.hpp"
#include "sdk/base/text.hpp"
#include "sdk/support/process.hpp"

namespace {

using namespace harena;
using namespace harena::container::testing;

double ms_since(std::int64_t start) { return static_cast<double>(monotonic_now_ns() - start) / 1e6; }

double percentile(std::vector<double> values, double p) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[std::min(values.size() - 1, static_cast<std::size_t>(p * static_cast<double>(values.size())))];
}

void report(const char* name, const std::vector<double>& values) {
  std::printf("%-22s p10 %7.2f   median %7.2f ms   p90 %7.2f   p99 %7.2f\n", name, percentile(values, 0.1), percentile(values, 0.5),
              percentile(values, 0.9), percentile(values, 0.99));
}

void report_stages(const std::map<std::string, std::vector<double>>& stages) {
  for (const auto& [name, values] : stages) std::printf("  stage %-14s median %7.3f ms\n", name.c_str(), percentile(values, 0.5));
}

void burst(Backend& backend, int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; ++i) ids.push_back(new_id());
  std::vector<std::thread> threads;
  std::vector<double> latencies(ids.size());
  const std::int64_t start = monotonic_now_ns();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    threads.emplace_back([&, i] {
      if (backend.create(ids[i], {{"memory", "64MiB"}}).status != HARENA_OK) std::fprintf(stderr, "a create of the burst failed\n");
      latencies[i] = ms_since(start);
    });
  }
  for (auto& thread : threads) thread.join();
  const double all = ms_since(start);
  std::printf("burst of %d: all ready after %.0f ms, %.0f a second, p99 %.0f ms\n", count, all, count * 1000.0 / all, percentile(latencies, 0.99));
  for (const auto& id : ids) backend.stop(id);
}

struct Figures {
  std::vector<double> floors, creates, commands, stops;
  std::map<std::string, std::vector<double>> stages;
  int prepared = 0;
};

bool life(Backend& backend, Figures& figures) {
  const std::string id = new_id();
  std::int64_t start = monotonic_now_ns();
  auto made = backend.create(id);
  figures.creates.push_back(ms_since(start));
  if (made.status != HARENA_OK) return std::puts(made.message.c_str()), false;
  figures.prepared += made.result["details"].value("prepared", false) ? 1 : 0;
  for (const auto& stage : split(made.result["details"]["stages_us"].get<std::string>(), ' ')) {
    const auto parts = split(stage, '=');
    figures.stages[parts[0]].push_back(std::atof(parts[1].c_str()) / 1000);
  }
  start = monotonic_now_ns();
  backend.run(id, {"true"});
  figures.commands.push_back(ms_since(start));
  start = monotonic_now_ns();
  backend.stop_processes(id);
  figures.stops.push_back(ms_since(start));
  backend.stop(id);
  return true;
}

/// What the others of a round left to be done is done before the next is measured.
void settle() { ::usleep(20'000); }

bool lives(Backend& backend, int rounds, const std::string& floor) {
  Figures figures;
  for (int i = 0; i < rounds; ++i) {
    settle();
    const std::int64_t begun = monotonic_now_ns();
    if (bare_floor(floor) != 0) return std::puts("the bare floor failed"), false;
    figures.floors.push_back(ms_since(begun));
    settle();
    if (!life(backend, figures)) return false;
  }
  report("bare floor", figures.floors);
  report("create", figures.creates);
  report_stages(figures.stages);
  report("first command", figures.commands);
  report("stop", figures.stops);
  std::printf("%d of %d from the pool\n", figures.prepared, rounds);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 50;
  const std::string why = Backend::why_not();
  if (!why.empty()) return std::puts(why.c_str()), 77;
  for (int pool : {0, 4}) {
    Backend backend(json{{"pool", pool}});
    const std::string floor = backend.folder() / "floor";
    std::filesystem::create_directories(floor + "/root");
    if (::symlink(std::filesystem::path(image_path()).parent_path().append("rootfs").c_str(), (floor + "/lower").c_str()) != 0) return 1;
    std::printf("with a pool of %d:\n", pool);
    if (!lives(backend, rounds, floor)) return 1;
    burst(backend, 100);
  }
  return 0;
}
