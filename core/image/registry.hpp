#pragma once
// From a registry into an OCI layout on disk, by skopeo, which knows the registries' protocols and credentials.

#include <filesystem>
#include <string>

#include "core/image/process.hpp"

namespace harena::image {

struct RegistryOptions {
  bool insecure = false;      ///< plain HTTP, or a certificate nobody vouches for: only when the caller says so
  std::string authfile;       ///< skopeo's; empty: its default places
  std::string architecture;   ///< of an image for several
};

/// Copies `location` ([host/]name[:tag]) into the new folder `layout` under the tag "image". Errors by cause: not_found,
/// unauthenticated, unavailable (no network; retry), failed_precondition (TLS, not for this architecture, skopeo isn't
/// installed), resource_exhausted (disk full). `checkpoint` is asked about five times a second.
Status fetch_from_registry(ProcessSpawner& spawner, const std::string& location, const std::filesystem::path& layout,
                           const RegistryOptions& options, const Checkpoint& checkpoint);

/// What skopeo's output means. Pure.
Error explain_skopeo(const std::string& location, const std::string& output);

}  // namespace harena::image
