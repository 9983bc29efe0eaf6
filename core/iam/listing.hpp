#pragma once
// What the lists of IamService have in common.

#include <cstdint>
#include <string>

#include "sdk/base/result.hpp"

namespace harena {

inline constexpr std::int64_t kMaxIamListLimit = 1'000;

/// invalid_argument unless it is 1 to kMaxIamListLimit.
inline Status check_list_limit(std::int64_t limit) {
  if (limit >= 1 && limit <= kMaxIamListLimit) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "limit is " + std::to_string(limit) + "; it must be from 1 to " + std::to_string(kMaxIamListLimit));
}

}  // namespace harena
