#pragma once
// ForeignImage: what an OCI layout or a docker archive says about one image, read and checked.

#include <string>
#include <vector>

#include "core/image/file_set.hpp"
#include "core/image/manifest.hpp"

namespace harena::image {

struct ForeignLayer {
  std::string file;     ///< its name in the FileSet
  std::string diff_id;  ///< "sha256:..." of the uncompressed tar; may be empty
};

struct ForeignImage {
  ImageConfig config;
  std::string created;
  std::string digest;                ///< of the OCI manifest or the docker config
  std::vector<ForeignLayer> layers;  ///< lowest first
};

/// index.json, indexes of several platforms, manifest and config, each compared with its digest (data_loss). `tag` chooses
/// among several images. not_found: no such tag, or no image for `architecture` (the message names those there are);
/// unimplemented: not a container image, encrypted or foreign layers.
Result<ForeignImage> read_oci_layout(const FileSet& files, const std::string& tag, const std::string& architecture);

/// manifest.json of `docker save`. invalid_argument when it holds several images.
Result<ForeignImage> read_docker_archive(const FileSet& files, const std::string& architecture);

/// The config document of OCI and docker. failed_precondition for another operating system or architecture.
Result<ForeignImage> read_foreign_config(const std::string& bytes, const std::string& architecture);

/// The architecture of this machine in OCI's words: amd64, arm64, ...
std::string host_architecture();

}  // namespace harena::image
