#pragma once
// Why the API refused a call, from the body of its answer: `error.details.reason`.

#include <string>
#include <string_view>

namespace harena::e2b {

/// Empty when the body isn't such an error, or names none.
std::string refusal_reason(std::string_view body);

}  // namespace harena::e2b
