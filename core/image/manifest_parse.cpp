#include <nlohmann/json.hpp>

#include "core/image/manifest.hpp"
#include "core/model/json_fields.hpp"

namespace harena::image {
namespace {

using nlohmann::json;

/// Deeper documents are refused before they can exhaust the stack of whoever walks them.
constexpr int kMaxJsonDepth = 8;

Error wrong_document(std::string message) { return make_error(ErrorCode::invalid_argument, "image manifest: " + std::move(message)); }

Result<json> parse_document(std::string_view bytes) {
  if (bytes.size() > kMaxManifestBytes) {
    return wrong_document("it has " + std::to_string(bytes.size()) + " bytes; at most " + std::to_string(kMaxManifestBytes) + " are allowed");
  }
  bool too_deep = false;
  auto document = json::parse(
      bytes,
      [&](int depth, json::parse_event_t, json&) {
        too_deep = too_deep || depth > kMaxJsonDepth;
        return !too_deep;
      },
      false);
  if (too_deep) return wrong_document("it is nested deeper than " + std::to_string(kMaxJsonDepth));
  if (document.is_discarded() || !document.is_object()) return wrong_document("it isn't a JSON object");
  return document;
}

Status check_version(JsonFields& fields) {
  HARENA_TRY(const auto version, fields.integer("schema_version", 0, 0, INT64_MAX));
  HARENA_TRY(const auto media_type, fields.string("media_type", ""));
  if (media_type != kManifestMediaType) {
    return wrong_document("media_type is '" + media_type.substr(0, 80) + "'; it must be '" + std::string(kManifestMediaType) + "'");
  }
  if (version == kManifestSchemaVersion) return ok_status();
  return make_error(ErrorCode::failed_precondition, "image manifest: schema_version is " + std::to_string(version) +
                                                        "; this release reads version 1");
}

Result<ImageConfig> parse_config(const json& object) {
  JsonFields fields(object, "config");
  ImageConfig config;
  HARENA_TRY(config.env, fields.string_map("env"));
  HARENA_TRY(config.entrypoint, fields.strings("entrypoint"));
  HARENA_TRY(config.cmd, fields.strings("cmd"));
  HARENA_TRY(config.workdir, fields.string("workdir", ""));
  HARENA_TRY(config.user, fields.string("user", ""));
  HARENA_TRY(config.labels, fields.string_map("labels"));
  HARENA_TRY(config.architecture, fields.string("architecture", ""));
  HARENA_TRY_STATUS(fields.finish());
  return config;
}

Result<LayerEntry> parse_layer(const json& object) {
  JsonFields fields(object, "layer");
  HARENA_TRY(const auto digest_text, fields.string("digest", ""));
  HARENA_TRY(const auto size, fields.integer("size", 0, 0, INT64_MAX));
  HARENA_TRY(const auto media_type, fields.string("media_type", ""));
  HARENA_TRY_STATUS(fields.finish());
  if (media_type != kLayerMediaType) {
    return wrong_document("a layer has media_type '" + media_type.substr(0, 80) + "'; it must be '" + std::string(kLayerMediaType) + "'");
  }
  HARENA_TRY(auto digest, Digest::parse(digest_text));
  return LayerEntry{std::move(digest), size};
}

Result<std::vector<LayerEntry>> parse_layers(const json& document) {
  const auto found = document.find("layers");
  if (found == document.end() || !found->is_array()) return wrong_document("layers must be an array");
  std::vector<LayerEntry> layers;
  for (const auto& entry : *found) {
    HARENA_TRY(auto layer, parse_layer(entry));
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

Result<Manifest> Manifest::parse(std::string_view bytes) {
  HARENA_TRY(json document, parse_document(bytes));
  auto layers = parse_layers(document);
  document.erase("layers");
  JsonFields fields(document, "image manifest");
  HARENA_TRY_STATUS(check_version(fields));
  Manifest manifest;
  HARENA_TRY(manifest.layers, std::move(layers));
  HARENA_TRY(const auto kind, fields.string("kind", ""));
  HARENA_TRY(manifest.kind, image_kind_from_string(kind));
  HARENA_TRY(const auto config, fields.object("config"));
  HARENA_TRY(manifest.config, parse_config(config));
  HARENA_TRY(manifest.overrides, fields.strings("overrides"));
  HARENA_TRY(manifest.created, fields.string("created", ""));
  HARENA_TRY(manifest.provenance, fields.string_map("provenance"));
  HARENA_TRY_STATUS(fields.finish());
  HARENA_TRY_STATUS(validate(manifest));
  return manifest;
}

}  // namespace harena::image
