#include "core/image/foreign_image.hpp"
#include "core/image/foreign_json.hpp"

namespace harena::image {

using nlohmann::json;

Result<ForeignImage> read_docker_archive(const FileSet& files, const std::string& architecture) {
  HARENA_TRY(const auto bytes, files.read("manifest.json"));
  // The file is an array; it is wrapped so that the same bounded parser reads it.
  HARENA_TRY(const auto document, parse_foreign("{\"images\":" + bytes + "}", "manifest.json of the docker archive"));
  const auto images = array_at(document, "images");
  if (images.size() != 1) {
    return make_error(ErrorCode::invalid_argument, "the docker archive holds " + std::to_string(images.size()) +
                                                       " images; save one (docker save NAME:TAG)");
  }
  HARENA_TRY(const auto config, files.read(text_at(images[0], "Config")));
  HARENA_TRY(auto image, read_foreign_config(config, architecture));
  const auto layers = texts_at(images[0], "Layers");
  if (layers.size() != image.layers.size()) {
    return make_error(ErrorCode::invalid_argument, "the docker archive has " + std::to_string(layers.size()) +
                                                       " layers, its config " + std::to_string(image.layers.size()));
  }
  for (std::size_t i = 0; i < layers.size(); ++i) image.layers[i].file = layers[i];
  image.digest = Digest::of(config).str();
  return image;
}

}  // namespace harena::image
