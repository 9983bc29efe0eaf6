#pragma once
// Owners, modes, times and xattrs of one name, and which xattrs an image may bring.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/image/entry.hpp"

namespace harena::image {

/// user.*, security.capability, system.posix_acl_access, system.posix_acl_default, trusted.overlay.opaque with "y".
bool is_kept_xattr(std::string_view name, std::string_view value);

/// Sets all of them on `name` in a folder, without following it; counts the xattrs that aren't kept.
/// Precondition: nobody else can change the folder.
Status set_attributes(int folder, const std::string& name, const FileEntry& entry, std::int64_t& xattrs_left_out);

/// Marks the folder `name` as hiding what lower layers have there (overlayfs, "opaque directories").
Status set_opaque(int folder, const std::string& name);

}  // namespace harena::image
