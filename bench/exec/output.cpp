#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "bench/exec/blocking_http.hpp"
#include "bench/exec/contenders.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr const char* kFrames = "application/vnd.harena.frames";

template <class Work>
double mib_per_second(std::size_t size, Work work) {
  const auto begun = Clock::now();
  work();
  return static_cast<double>(size) / 1048576 / std::chrono::duration<double>(Clock::now() - begun).count();
}

std::string id_of(const std::string& command) {
  const auto at = command.find("\"id\":\"");
  if (at == std::string::npos) throw std::runtime_error(command);
  return command.substr(at + 6, command.find('"', at + 6) - at - 6);
}

void print(const char* what, const std::vector<double>& ours, const char* floor_name, const std::vector<double>& floor) {
  std::printf("%-28s %7.0f MiB/s   %-18s %7.0f MiB/s   %.0f %%\n", what, median(ours), floor_name, median(floor),
              100 * median(ours) / median(floor));
}

/// A temporary folder on the file system of $TMPDIR, as harenad's own state is.
struct Folder {
  std::filesystem::path path;
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "harena-bench-XXXXXX";
    if (!::mkdtemp(name.data())) throw std::runtime_error("mkdtemp failed");
    path = name;
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

void pipe_into_file(const std::string& source, const std::string& into) {
  if (std::system(("cat " + source + " | cat > " + into).c_str()) != 0) throw std::runtime_error("cat | cat failed");
}

void read_output(BlockingHttp& http, const Target& target, std::size_t size) {
  const auto body = R"({"argv":["cat","/tmp/bench-source"],"output_limit_bytes":)" + std::to_string(size) + "}";
  const auto id = id_of(http.call("POST", target.path("/commands"), body));
  const auto got = http.drain(target.path("/commands/" + id + "/output?follow=true"), kFrames);
  if (got < size) throw std::runtime_error("only " + std::to_string(got) + " bytes of output came");
  http.call("DELETE", target.path("/commands/" + id));
}

}  // namespace

void bench_output(const Target& target, int rounds, std::size_t size) {
  const Folder folder;
  BlockingHttp http(target.port, target.token);
  http.upload(target.path("/files?path=/tmp/bench-source"), size);
  const auto source = (folder.path / "source").string(), copy = (folder.path / "copy").string();
  if (std::system(("head -c " + std::to_string(size) + " /dev/zero > " + source).c_str()) != 0) throw std::runtime_error("head failed");
  std::vector<double> ours, floor;
  for (int i = 0; i < rounds; ++i) {
    floor.push_back(mib_per_second(size, [&] { pipe_into_file(source, copy); }));
    ours.push_back(mib_per_second(size, [&] { read_output(http, target, size); }));
  }
  http.call("DELETE", target.path("/files?path=/tmp/bench-source"));
  print("output, spooled and read", ours, "cat | cat > file", floor);
}

}  // namespace harena::bench
