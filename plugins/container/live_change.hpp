#pragma once
// Which parameters of a container may change while it lives.

#include "plugins/container/parameters.hpp"

namespace harena::container {

/// invalid_argument names the parameter that differs and can't, or the disk that there is none of.
Status check_live_change(const json& before, const json& after);
/// What is missing after a change: what was missing before and still is asked for, and what couldn't be set now.
json missing_after(const json& details, const Parameters& after, const std::vector<std::string>& now_missing);

}  // namespace harena::container
