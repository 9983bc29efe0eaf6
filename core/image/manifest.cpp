#include "core/image/manifest.hpp"

#include <algorithm>
#include <array>
#include <set>

#include <nlohmann/json.hpp>

#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kKindNames = {"base", "workspace", "toolkit"};
const std::vector<std::string>& overridable_fields() {
  static const std::vector<std::string> fields = {"env", "entrypoint", "cmd", "workdir", "user", "labels"};
  return fields;
}

Error wrong(std::string message) { return make_error(ErrorCode::invalid_argument, "image manifest: " + std::move(message)); }

Status check_overrides(const Manifest& manifest) {
  const auto& known = overridable_fields();
  if (manifest.kind == ImageKind::base && !manifest.overrides.empty()) {
    return wrong("a base has no overrides; its config is the stack's config");
  }
  for (const auto& field : manifest.overrides) {
    if (std::find(known.begin(), known.end(), field) == known.end()) {
      return wrong("overrides has '" + field + "'" + suggestion(field, known));
    }
  }
  return ok_status();
}

Status check_layers(const Manifest& manifest) {
  if (manifest.layers.empty()) return wrong("layers is empty; an image has at least one");
  if (manifest.layers.size() > kMaxLayers) {
    return wrong("layers has " + std::to_string(manifest.layers.size()) + " entries; at most " +
                 std::to_string(kMaxLayers) + " can be mounted");
  }
  std::set<Digest> seen;
  for (const auto& layer : manifest.layers) {
    if (layer.size <= 0) return wrong("layer " + layer.digest.str() + " has size " + std::to_string(layer.size));
    if (!seen.insert(layer.digest).second) return wrong("layer " + layer.digest.str() + " is listed twice");
  }
  return ok_status();
}

Status check_config(const ImageConfig& config) {
  if (config.architecture.empty()) return wrong("config.architecture is missing, as 'amd64'");
  if (!config.workdir.empty() && config.workdir[0] != '/') {
    return wrong("config.workdir is '" + config.workdir + "'; it must be absolute");
  }
  for (const auto& [name, value] : config.env) {
    if (name.empty() || name.find_first_of(std::string("=\0", 2)) != std::string::npos ||
        value.find('\0') != std::string::npos) {
      return wrong("config.env has the name '" + name + "'; a name has no '=' and neither part a NUL");
    }
  }
  return ok_status();
}

}  // namespace

std::string_view to_string(ImageKind kind) { return kKindNames.at(static_cast<std::size_t>(kind)); }

Result<ImageKind> image_kind_from_string(std::string_view name) {
  const std::vector<std::string> known(kKindNames.begin(), kKindNames.end());
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (known[i] == name) return static_cast<ImageKind>(i);
  }
  return make_error(ErrorCode::invalid_argument,
                    "image kind '" + std::string(name.substr(0, 64)) + "' is unknown" + suggestion(name, known));
}

Status validate(const Manifest& manifest) {
  HARENA_TRY_STATUS(check_config(manifest.config));
  HARENA_TRY_STATUS(check_overrides(manifest));
  return check_layers(manifest);
}

json to_json(const ImageConfig& config) {
  return {{"env", config.env},         {"entrypoint", config.entrypoint}, {"cmd", config.cmd},
          {"workdir", config.workdir}, {"user", config.user},             {"labels", config.labels},
          {"architecture", config.architecture}};
}

json to_backend_json(const ImageConfig& config) {
  json document = to_json(config);
  document["env"] = json::array();
  for (const auto& [name, value] : config.env) document["env"].push_back(name + "=" + value);
  return document;
}

std::string Manifest::serialise() const {
  auto entries = json::array();
  for (const auto& layer : layers) {
    entries.push_back({{"digest", layer.digest.str()}, {"size", layer.size}, {"media_type", kLayerMediaType}});
  }
  return json{{"schema_version", kManifestSchemaVersion},
              {"media_type", kManifestMediaType},
              {"kind", to_string(kind)},
              {"config", to_json(config)},
              {"overrides", overrides},
              {"layers", std::move(entries)},
              {"created", created},
              {"provenance", provenance}}
      .dump();
}

}  // namespace harena::image
