#include "sdk/conformance/process_facts.hpp"

#include <malloc.h>

#include <filesystem>

namespace harena::conformance {
namespace fs = std::filesystem;

std::size_t thread_count() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator("/proc/self/task")) ++count;
  return count;
}

std::map<int, std::string> open_descriptors() {
  std::map<int, std::string> found;
  for (const auto& entry : fs::directory_iterator("/proc/self/fd")) {
    std::error_code failed;
    auto target = fs::read_symlink(entry.path(), failed);
    // The iterator's own descriptor is of this folder.
    if (target.string().find("/fd") != std::string::npos && target.string().starts_with("/proc/")) continue;
    found[std::stoi(entry.path().filename())] = target;
  }
  return found;
}

std::size_t heap_bytes() {
  struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace harena::conformance
