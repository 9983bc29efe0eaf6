// Frozen slots: a member that moves breaks plugins which were built before, so it doesn't compile here; and the
// list itself is compared with layout.lock, so that it can't be "fixed" without a reviewer seeing it.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "sdk/abi/backend.h"
#include "sdk/abi/backend_container.h"
#include "sdk/abi/frontend.h"
#include "sdk/abi/image_store.h"
#include "sdk/abi/layout.hpp"
#include "sdk/abi/plugin.h"
#include "sdk/abi/state_store.h"

namespace {

#define FREEZE(type, member, at, bytes)                                                         \
  static_assert(offsetof(type, member) == (at), #type "." #member " moved: append, never insert"); \
  static_assert(sizeof(((type*)nullptr)->member) == (bytes), #type "." #member " changed its size");
#define FREEZE_SIZE(type, bytes) static_assert(sizeof(type) == (bytes), #type " changed its size");
HARENA_ABI_LAYOUT(FREEZE, FREEZE_SIZE)

#define LINE(type, member, at, bytes) text += #type " " #member " " #at " " #bytes "\n";
#define SIZE_LINE(type, bytes) text += #type " (size) " #bytes "\n";
std::string layout_in_code() {
  std::string text;
  HARENA_ABI_LAYOUT(LINE, SIZE_LINE)
  return text;
}

std::string layout_in_lock() {
  std::ifstream file(std::string(std::getenv("HARENA_SOURCE_DIR")) + "/sdk/abi/layout.lock");
  std::string text, line;
  while (std::getline(file, line)) {
    if (!line.starts_with('#')) text += line + "\n";
  }
  return text;
}

TEST(AbiLayout, IsThatOfTheLockFile) { EXPECT_EQ(layout_in_lock(), layout_in_code()); }

TEST(AbiLayout, EveryStructBeginsWithItsSize) {
  std::istringstream lines(layout_in_code());
  std::string type, member, last, rest;
  int at = 0;
  while (lines >> type >> member && std::getline(lines, rest)) {
    at = std::atoi(rest.c_str());
    if (type != last && type != "harena_str") {
      EXPECT_EQ("struct_size 0", member + " " + std::to_string(at)) << type;
    }
    last = type;
  }
}

}  // namespace
