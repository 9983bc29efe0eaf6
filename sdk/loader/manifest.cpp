#include "sdk/loader/manifest.hpp"

#include <fcntl.h>

#include <fstream>
#include <sstream>

#include "sdk/abi/types.h"
#include "sdk/schema/schema.hpp"

namespace harena::loader {
namespace {

constexpr std::size_t kMaxManifestBytes = 64 * 1024;

constexpr std::string_view kSchema = R"({
  "type": "object", "additionalProperties": false,
  "required": ["name", "id", "version", "abi", "contracts", "library", "sha256"],
  "properties": {
    "name": {"type": "string", "pattern": "^[a-z][a-z0-9-]{0,62}$"},
    "id": {"type": "string", "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)+$"},
    "version": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+([-+].*)?$"},
    "abi": {"type": "string", "pattern": "^[0-9]+\\.[0-9]+$"},
    "contracts": {"type": "array", "minItems": 1, "uniqueItems": true,
                  "items": {"type": "string", "pattern": "^[a-z0-9.-]+/[0-9]+$"}},
    "library": {"type": "string", "pattern": "^[^/]+\\.so$"},
    "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"}
  }
})";

Result<std::string> read_small(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return errno_error(errno, "opening " + path.string());
  std::string text(kMaxManifestBytes + 1, '\0');
  file.read(text.data(), std::ssize(text));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() <= kMaxManifestBytes) return text;
  return make_error(ErrorCode::invalid_argument, path.string() + " has more than " + std::to_string(kMaxManifestBytes) + " bytes");
}

}  // namespace

Result<Manifest> parse_manifest(std::string_view text) {
  try {
    auto document = schema::json::parse(text);
    HARENA_TRY(auto schema, schema::Schema::parse(kSchema));
    HARENA_TRY_STATUS(schema.validate(document, "plugin.json"));
    return Manifest{document["name"],      document["id"],      document["version"], document["abi"],
                    document["contracts"], document["library"], document["sha256"]};
  } catch (const schema::json::exception& e) {
    return make_error(ErrorCode::invalid_argument, std::string("plugin.json isn't JSON: ") + e.what());
  }
}

Result<Manifest> read_manifest(const std::filesystem::path& folder) {
  HARENA_TRY(std::string text, read_small(folder / kManifestFile));
  auto manifest = parse_manifest(text);
  if (!manifest.ok()) return std::move(manifest.error()).during("reading " + folder.string());
  return manifest;
}

std::string host_abi() { return std::to_string(HARENA_ABI_MAJOR) + "." + std::to_string(HARENA_ABI_MINOR); }

Status check_abi(std::string_view plugin, std::string_view plugin_abi) {
  const std::string host = host_abi();
  std::string_view major = plugin_abi.substr(0, plugin_abi.find('.'));
  bool fits = HARENA_ABI_MAJOR == 0 ? plugin_abi == host : major == std::to_string(HARENA_ABI_MAJOR);
  if (fits) return ok_status();
  return make_error(ErrorCode::failed_precondition,
                    "plugin '" + std::string(plugin) + "' is built for plugin ABI " + std::string(plugin_abi) +
                        ", this host has " + host + (HARENA_ABI_MAJOR == 0 ? "; until 1.0 they must be equal" : "") +
                        ": rebuild the plugin with this version's SDK");
}

}  // namespace harena::loader
