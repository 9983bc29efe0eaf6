#pragma once
// The whole of PID 1, step by step.

#include "sdk/base/result.hpp"

namespace harena::guest {

/// Returns when the machine is to be turned off; the error is what made that necessary.
Status run_guest();

}  // namespace harena::guest
