#pragma once
// What the kit looks at in a shared library without loading it. Reads within the file's bounds only, whatever it says.

#include <filesystem>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::conformance {

struct ElfFacts {
  bool relro = false;             // PT_GNU_RELRO
  bool bind_now = false;          // with relro: the relocations are read-only once loaded
  bool executable_stack = false;  // PT_GNU_STACK missing or executable
  bool text_relocations = false;
  std::string run_path;           // DT_RUNPATH or DT_RPATH
  std::vector<std::string> needed;
};

/// invalid_argument when it isn't a 64-bit ELF shared library of this byte order.
Result<ElfFacts> read_elf(const std::filesystem::path& path);

}  // namespace harena::conformance
