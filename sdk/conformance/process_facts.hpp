#pragma once
// What this process holds: to see what a plugin starts, opens and keeps.

#include <cstddef>
#include <map>
#include <string>

namespace harena::conformance {

std::size_t thread_count();
/// Number -> what it is.
std::map<int, std::string> open_descriptors();
/// Bytes in use in the allocator that plugins share with their host (glibc's).
std::size_t heap_bytes();

}  // namespace harena::conformance
