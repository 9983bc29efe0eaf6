#pragma once
// What a fuzz target defines: libFuzzer's names. A property that doesn't hold ends the process by expect().

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// Once, before the first input. 77 for a target that can't run here ends the process with it.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace harena::fuzz {

inline void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "property violated: %s\n", what);
  std::abort();
}

}  // namespace harena::fuzz
