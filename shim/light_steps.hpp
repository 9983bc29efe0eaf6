#pragma once
// A light child's way from clone to exec. It runs in its maker's memory, beside it: no heap, no errno, no C
// library.

namespace harena::shim {

/// `plan`: a LightPlan. Doesn't return.
void be_light_child(void* plan);

}  // namespace harena::shim
