#pragma once
// Manifest: what an image is. A JSON document that is itself stored as a blob, so its digest names the image exactly.
//
//   {"schema_version": 1, "media_type": "application/vnd.harena.manifest.v1+json", "kind": "base",
//    "config": {"architecture": "amd64", "env": {"PATH": "..."}, "cmd": [...], ...}, "overrides": [],
//    "layers": [{"digest": "sha256:...", "size": 1, "media_type": "application/vnd.harena.layer.erofs"}],
//    "created": "2025-01-01T00:00:00Z", "provenance": {"source": "docker://...", ...}}
//
// Equal manifests have equal bytes (keys sorted, no white space), so that the same content gets the same digest.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "core/image/digest.hpp"
#include "sdk/base/result.hpp"

namespace harena::image {

inline constexpr std::int64_t kManifestSchemaVersion = 1;
inline constexpr std::string_view kManifestMediaType = "application/vnd.harena.manifest.v1+json";
inline constexpr std::string_view kLayerMediaType = "application/vnd.harena.layer.erofs";
/// A manifest of 128 layers takes 20 KiB; the rest is environment and labels. Registries allow 4 MiB.
inline constexpr std::size_t kMaxManifestBytes = 1 << 20;
/// Of one image and of a whole stack; stack.hpp says why.
inline constexpr std::size_t kMaxLayers = 128;

/// Where in a stack an image may stand.
enum class ImageKind : std::uint8_t { base, workspace, toolkit };
std::string_view to_string(ImageKind kind);
/// invalid_argument with the known names.
Result<ImageKind> image_kind_from_string(std::string_view name);

/// How a command is run that says nothing itself.
struct ImageConfig {
  std::map<std::string, std::string> env;
  std::vector<std::string> entrypoint;
  std::vector<std::string> cmd;
  std::string workdir;  ///< absolute; empty means "/"
  std::string user;     ///< `name`, `uid`, `name:group`, `uid:gid`; empty means root
  std::map<std::string, std::string> labels;
  std::string architecture;  ///< as in OCI: amd64, arm64
  bool operator==(const ImageConfig&) const = default;
};

struct LayerEntry {
  Digest digest;
  std::int64_t size = 0;  ///< bytes of the EROFS file
  bool operator==(const LayerEntry&) const = default;
};

struct Manifest {
  ImageKind kind = ImageKind::base;
  ImageConfig config;
  /// The fields of config that a workspace or toolkit lays over the base's: env and labels are merged by key, the
  /// others replaced. Of: env entrypoint cmd workdir user labels. Always empty for a base.
  std::vector<std::string> overrides;
  /// Lowest first.
  std::vector<LayerEntry> layers;
  std::string created;  ///< RFC 3339; may be empty
  /// Where it came from: source, source_digest, tool ...; free text for people.
  std::map<std::string, std::string> provenance;

  /// Canonical bytes. Precondition: all texts are UTF-8 (parse() and the importers see to it).
  std::string serialise() const;
  /// Strict: unknown keys, wrong types and broken rules are invalid_argument that name the key; other schema versions
  /// are failed_precondition that names both.
  static Result<Manifest> parse(std::string_view bytes);
  bool operator==(const Manifest&) const = default;
};

/// The rules that parse() checks beyond types; for manifests made by hand.
Status validate(const Manifest& manifest);

/// The config as manifests hold it: env is an object.
nlohmann::json to_json(const ImageConfig& config);
/// The config as the backend contract's image_config document (sdk/abi/backend.h): env is an array of "NAME=VALUE".
nlohmann::json to_backend_json(const ImageConfig& config);

}  // namespace harena::image
