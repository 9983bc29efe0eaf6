#pragma once
// One limit of setrlimit(2) as a text, for command lines: "nofile=65536", "core=0", "fsize=1048576".

#include <sys/resource.h>

#include <string_view>

#include "sdk/base/result.hpp"

namespace harena {

struct ResourceLimit {
  __rlimit_resource_t resource{};
  /// Soft and hard alike: nobody inside can raise it.
  rlim_t value = 0;

  /// invalid_argument names the text and what is right.
  static Result<ResourceLimit> parse(std::string_view text);
  /// For the calling process and its children. Lowering needs no privilege.
  Status apply() const;
};

}  // namespace harena
