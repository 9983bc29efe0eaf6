#include <algorithm>
#include <array>

#include "core/image/foreign_image.hpp"
#include "core/image/foreign_json.hpp"

namespace harena::image {
namespace {

using nlohmann::json;

/// An index of indexes is allowed by the specification; deeper is somebody's loop.
constexpr int kMaxIndexDepth = 4;
constexpr std::array<std::string_view, 2> kIndexTypes = {"application/vnd.oci.image.index.v1+json",
                                                         "application/vnd.docker.distribution.manifest.list.v2+json"};
constexpr std::array<std::string_view, 2> kConfigTypes = {"application/vnd.oci.image.config.v1+json",
                                                          "application/vnd.docker.container.image.v1+json"};
constexpr std::array<std::string_view, 7> kLayerTypes = {
    "application/vnd.oci.image.layer.v1.tar",       "application/vnd.oci.image.layer.v1.tar+gzip",
    "application/vnd.oci.image.layer.v1.tar+zstd",  "application/vnd.docker.image.rootfs.diff.tar",
    "application/vnd.docker.image.rootfs.diff.tar.gzip", "application/vnd.docker.image.rootfs.diff.tar.zstd",
    "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"};

template <std::size_t N>
bool among(const std::string& type, const std::array<std::string_view, N>& known) {
  return std::find(known.begin(), known.end(), type) != known.end();
}

Result<std::string> blob_name(const std::string& digest) {
  HARENA_TRY(const auto parsed, Digest::parse(digest));
  return "blobs/sha256/" + std::string(parsed.hex());
}

/// A document by its descriptor, compared with its digest.
Result<std::string> read_blob(const FileSet& files, const std::string& digest) {
  HARENA_TRY(const auto name, blob_name(digest));
  HARENA_TRY(auto bytes, files.read(name));
  const auto actual = Digest::of(bytes);
  if (actual.str() == digest) return bytes;
  return make_error(ErrorCode::data_loss, "the file '" + name + "' of the OCI layout has the digest " + actual.str());
}

std::string platform_of(const json& descriptor) {
  const auto platform = object_at(descriptor, "platform");
  return text_at(platform, "os") + "/" + text_at(platform, "architecture");
}

/// Of an index of platforms: the one for this machine. Descriptors without a platform are taken only when alone.
Result<json> choose_platform(const json& descriptors, const std::string& architecture) {
  std::string offered;
  for (const auto& descriptor : descriptors) {
    const auto platform = platform_of(descriptor);
    if (platform == "linux/" + architecture) return descriptor;
    if (platform != "unknown/unknown" && platform != "/") offered += (offered.empty() ? "" : ", ") + platform;
  }
  if (descriptors.size() == 1 && platform_of(descriptors[0]) == "/") return descriptors[0];
  return make_error(ErrorCode::not_found, "the image isn't there for linux/" + architecture + "; there is " +
                                              (offered.empty() ? "none with a known platform" : offered));
}

/// Of index.json: the one with the tag, or the only one.
Result<json> choose_image(const json& descriptors, const std::string& tag, const std::string& architecture) {
  json chosen = json::array();
  std::string offered;
  for (const auto& descriptor : descriptors) {
    const auto name = text_at(object_at(descriptor, "annotations"), "org.opencontainers.image.ref.name");
    if (!name.empty()) offered += (offered.empty() ? "" : ", ") + name;
    if (tag.empty() || name == tag) chosen.push_back(descriptor);
  }
  if (chosen.empty()) {
    return make_error(ErrorCode::not_found, tag.empty() ? "the OCI layout is empty"
                                                        : "the OCI layout has no image '" + tag + "'; there is " + (offered.empty() ? "none with a name" : offered));
  }
  if (chosen.size() == 1) return chosen[0];
  const auto same = choose_platform(chosen, architecture);
  if (same) return same;
  return make_error(ErrorCode::invalid_argument, "the OCI layout holds several images; name one of: " + offered);
}

/// Down through indexes to the manifest. `digest` becomes that of the manifest.
Result<json> find_manifest(const FileSet& files, json descriptor, const std::string& architecture, std::string& digest) {
  for (int depth = 0; depth < kMaxIndexDepth; ++depth) {
    digest = text_at(descriptor, "digest");
    HARENA_TRY(const auto bytes, read_blob(files, digest));
    HARENA_TRY(auto document, parse_foreign(bytes, "the manifest " + digest));
    const bool is_index = among(text_at(descriptor, "mediaType"), kIndexTypes) || document.contains("manifests");
    if (!is_index) return document;
    HARENA_TRY(descriptor, choose_platform(array_at(document, "manifests"), architecture));
  }
  return make_error(ErrorCode::invalid_argument, "the OCI layout has indexes nested deeper than 4");
}

Status add_layers(const json& manifest, ForeignImage& image) {
  const auto layers = array_at(manifest, "layers");
  if (layers.size() != image.layers.size()) {
    return make_error(ErrorCode::invalid_argument, "the image's manifest has " + std::to_string(layers.size()) +
                                                       " layers, its config " + std::to_string(image.layers.size()));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto type = text_at(layers[i], "mediaType");
    if (!among(type, kLayerTypes)) {
      return make_error(ErrorCode::unimplemented, "a layer has the media type '" + type.substr(0, 100) + "'; a tar, plain or with gzip or zstd, can be imported");
    }
    HARENA_TRY(image.layers[i].file, blob_name(text_at(layers[i], "digest")));
  }
  return ok_status();
}

}  // namespace

Result<ForeignImage> read_oci_layout(const FileSet& files, const std::string& tag, const std::string& architecture) {
  HARENA_TRY(const auto index_bytes, files.read("index.json"));
  HARENA_TRY(const auto index, parse_foreign(index_bytes, "index.json of the OCI layout"));
  HARENA_TRY(auto descriptor, choose_image(array_at(index, "manifests"), tag, architecture));
  std::string digest;
  HARENA_TRY(const auto manifest, find_manifest(files, std::move(descriptor), architecture, digest));
  const auto config = object_at(manifest, "config");
  if (!among(text_at(config, "mediaType"), kConfigTypes)) {
    return make_error(ErrorCode::unimplemented, "it is no container image but a '" + text_at(config, "mediaType").substr(0, 100) + "'");
  }
  HARENA_TRY(const auto config_bytes, read_blob(files, text_at(config, "digest")));
  HARENA_TRY(auto image, read_foreign_config(config_bytes, architecture));
  HARENA_TRY_STATUS(add_layers(manifest, image));
  image.digest = digest;
  return image;
}

}  // namespace harena::image
