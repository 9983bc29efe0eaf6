#pragma once
// TestLayout: OCI layouts of any content for tests.

#include <nlohmann/json.hpp>

#include "core/image/digest.hpp"
#include "core/image/test_tar.hpp"

namespace harena::image {

class TestLayout {
 public:
  using json = nlohmann::json;
  explicit TestLayout(std::string folder) : folder_(std::move(folder)) {
    write_file(folder_ + "/oci-layout", R"({"imageLayoutVersion":"1.0.0"})");
  }

  /// A descriptor of bytes that are stored as a blob.
  json blob(const std::string& bytes, const std::string& type) {
    const auto digest = Digest::of(bytes);
    write_file(folder_ + "/blobs/sha256/" + std::string(digest.hex()), bytes);
    return {{"mediaType", type}, {"digest", digest.str()}, {"size", bytes.size()}};
  }
  /// Uncompressed tars, lowest first, to an image's descriptor.
  json image(const std::vector<std::string>& tars, const std::string& architecture = "amd64") {
    json layers = json::array();
    json diff_ids = json::array();
    for (const auto& tar : tars) {
      layers.push_back(blob(tar, "application/vnd.oci.image.layer.v1.tar"));
      diff_ids.push_back(Digest::of(tar).str());
    }
    const json config = {{"architecture", architecture}, {"os", "linux"}, {"created", "2024-05-06T07:08:09Z"},
                         {"config", {{"Env", {"PATH=/bin", "A=b=c"}}, {"Cmd", {"sh"}}, {"WorkingDir", "/w"}, {"User", "1:2"}, {"Labels", {{"k", "v"}}}}},
                         {"rootfs", {{"type", "layers"}, {"diff_ids", diff_ids}}}};
    const json manifest = {{"schemaVersion", 2}, {"mediaType", "application/vnd.oci.image.manifest.v1+json"},
                           {"config", blob(config.dump(), "application/vnd.oci.image.config.v1+json")}, {"layers", layers}};
    return blob(manifest.dump(), "application/vnd.oci.image.manifest.v1+json");
  }
  json index_of(const json& descriptors) {
    return blob(json{{"schemaVersion", 2}, {"manifests", listed(descriptors)}}.dump(), "application/vnd.oci.image.index.v1+json");
  }
  void write_index(const json& descriptors) {
    write_file(folder_ + "/index.json", json{{"schemaVersion", 2}, {"manifests", listed(descriptors)}}.dump());
  }
  /// {x} in braces is x itself to the json library.
  static json listed(const json& descriptors) { return descriptors.is_array() ? descriptors : json::array({descriptors}); }
  static json named(json descriptor, const std::string& name) {
    descriptor["annotations"]["org.opencontainers.image.ref.name"] = name;
    return descriptor;
  }
  static json on(json descriptor, const std::string& architecture) {
    descriptor["platform"] = {{"os", "linux"}, {"architecture", architecture}};
    return descriptor;
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

}  // namespace harena::image
