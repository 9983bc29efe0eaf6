#pragma once
// The least that a container can be: clone with all namespaces, an overlay, pivot_root, exec of /bin/true. What benches compare with.

#include <string>

namespace harena::container::testing {

/// `folder` has lower (a root file system, or a link to one) and root (empty); u and w are made. The exit status of wait(2); 0 is right.
int bare_floor(const std::string& folder);

}  // namespace harena::container::testing
