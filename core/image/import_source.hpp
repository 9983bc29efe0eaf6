#pragma once
// ImportSource: where an image is imported from, as a text.
//
//   dir:/path                      a folder becomes one layer
//   tar:/path                      a tar of a root file system (plain, gzip, bzip2, xz, zstd) becomes one layer
//   docker-archive:/path           `docker save`; one image
//   oci-archive:/path[:tag]        a tar of an OCI layout
//   oci:/path[:tag]                a folder with an OCI layout
//   docker://[host[:port]/]name[:tag|@sha256:...]   a registry (skopeo's form)

#include <cstdint>
#include <string>
#include <string_view>

#include "sdk/base/result.hpp"

namespace harena::image {

enum class SourceKind : std::uint8_t { folder, tar, docker_archive, oci_archive, oci_layout, registry };

struct ImportSource {
  SourceKind kind = SourceKind::folder;
  std::string location;  ///< an absolute path; of a registry what follows "docker://"
  std::string tag;       ///< of OCI layouts: which of several images; may be empty

  /// invalid_argument names what is wrong and the known forms.
  static Result<ImportSource> parse(std::string_view text);
};

}  // namespace harena::image
