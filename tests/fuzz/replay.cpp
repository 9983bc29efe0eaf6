// What libFuzzer does, without it: every seed, and mutations of each that are the same in every run.
//   fuzz_NAME [-mutations=N] FILE_OR_FOLDER...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace {

using Bytes = std::string;

std::vector<Bytes> read_seeds(const std::vector<std::filesystem::path>& places) {
  std::vector<std::filesystem::path> files;
  for (const auto& place : places) {
    if (!std::filesystem::is_directory(place)) {
      files.push_back(place);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(place)) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<Bytes> seeds;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

/// One to four small changes: a bit, a byte, a cut, a doubled part, a part of another seed.
Bytes mutated(Bytes bytes, const std::vector<Bytes>& seeds, std::mt19937& random) {
  for (unsigned i = 0; i <= random() % 4; ++i) {
    const std::size_t at = bytes.empty() ? 0 : random() % bytes.size();
    switch (random() % 5) {
      case 0: if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ (1 << (random() % 8))); break;
      case 1: if (!bytes.empty()) bytes[at] = static_cast<char>(random()); break;
      case 2: bytes.erase(at, random() % 16); break;
      case 3: bytes.insert(at, bytes.substr(at, random() % 64)); break;
      default: {
        const auto& other = seeds[random() % seeds.size()];
        if (!other.empty()) bytes.insert(at, other.substr(random() % other.size(), random() % 64));
      }
    }
  }
  return bytes;
}

void run(const Bytes& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

}  // namespace

int main(int argc, char** argv) {
  int mutations = 0;
  std::vector<std::filesystem::path> places;
  for (int i = 1; i < argc; ++i) {
    constexpr const char* kOption = "-mutations=";
    if (std::strncmp(argv[i], kOption, std::strlen(kOption)) == 0) {
      mutations = std::atoi(argv[i] + std::strlen(kOption));
    } else {
      places.emplace_back(argv[i]);
    }
  }
  const auto seeds = read_seeds(places);
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds; usage: %s [-mutations=N] FILE_OR_FOLDER...\n", argv[0]);
    return 2;
  }
  LLVMFuzzerInitialize(&argc, &argv);
  std::mt19937 random(1);
  for (const auto& seed : seeds) {
    run(seed);
    for (int i = 0; i < mutations; ++i) run(mutated(seed, seeds, random));
  }
  std::printf("%zu seeds, %d mutations of each\n", seeds.size(), mutations);
  return 0;
}
