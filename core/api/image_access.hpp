#pragma once
// Which images a caller may use and change.

#include <string>

#include "core/contracts/identity.hpp"
#include "core/image/reference.hpp"
#include "core/model/sandbox.hpp"

namespace harena {

/// An image may be used by sandboxes of its own project and of every project below it (a base that all share lives near the
/// root), and by whoever has image_read on its project. Else not_found, as for one that doesn't exist.
Status check_may_use_images(Authenticator& iam, const Principal& principal, const CreateSpec& spec);

/// Parses, and authorises `permission` on the reference's project.
Result<image::ImageReference> permitted_image(Authenticator& iam, const Principal& principal, Permission permission,
                                              const std::string& reference);

}  // namespace harena
