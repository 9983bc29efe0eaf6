#include "core/image/stack.hpp"

#include <algorithm>

namespace harena::image {
namespace {

bool holds(std::span<const LayerEntry> layers, const Digest& digest) {
  return std::any_of(layers.begin(), layers.end(), [&](const auto& layer) { return layer.digest == digest; });
}

void lay(std::vector<LayerEntry>& stack, const LayerEntry& layer) {
  std::erase_if(stack, [&](const auto& lower) { return lower.digest == layer.digest; });
  stack.push_back(layer);
}

/// Rule 1, then rule 2 of the header.
void lay_image(std::vector<LayerEntry>& stack, std::span<const LayerEntry> layers) {
  const auto first_new = std::find_if(layers.begin(), layers.end(),
                                      [&](const auto& layer) { return !holds(stack, layer.digest); });
  std::for_each(first_new, layers.end(), [&](const auto& layer) { lay(stack, layer); });
}

void lay_config(ImageConfig& config, const Manifest& manifest) {
  const auto& upper = manifest.config;
  for (const auto& field : manifest.overrides) {
    if (field == "entrypoint") config.entrypoint = upper.entrypoint;
    if (field == "cmd") config.cmd = upper.cmd;
    if (field == "workdir") config.workdir = upper.workdir;
    if (field == "user") config.user = upper.user;
    if (field == "env") for (const auto& [name, value] : upper.env) config.env[name] = value;
    if (field == "labels") for (const auto& [name, value] : upper.labels) config.labels[name] = value;
  }
}

Status check_place(const StackImage& image, ImageKind place) {
  if (image.manifest.kind == place) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "image '" + image.reference + "' is a " + std::string(to_string(image.manifest.kind)) +
                        " and can't stand as a " + std::string(to_string(place)) +
                        "; a stack is one base, then workspaces, then toolkits");
}

Status check_architecture(const StackImage& base, const StackImage& image) {
  if (image.manifest.config.architecture == base.manifest.config.architecture) return ok_status();
  return make_error(ErrorCode::invalid_argument,
                    "image '" + image.reference + "' is for " + image.manifest.config.architecture + ", its base '" +
                        base.reference + "' for " + base.manifest.config.architecture);
}

Status lay_all(Stack& stack, const StackImage& base, std::span<const StackImage> images, ImageKind place) {
  for (const auto& image : images) {
    HARENA_TRY_STATUS(check_place(image, place));
    HARENA_TRY_STATUS(check_architecture(base, image));
    lay_image(stack.layers, image.manifest.layers);
    lay_config(stack.config, image.manifest);
  }
  return ok_status();
}

}  // namespace

Result<Stack> make_stack(const StackImage& base, std::span<const StackImage> workspaces,
                         std::span<const StackImage> toolkits) {
  HARENA_TRY_STATUS(check_place(base, ImageKind::base));
  Stack stack{base.manifest.layers, base.manifest.config};
  HARENA_TRY_STATUS(lay_all(stack, base, workspaces, ImageKind::workspace));
  HARENA_TRY_STATUS(lay_all(stack, base, toolkits, ImageKind::toolkit));
  if (stack.layers.size() <= kMaxLayers) return stack;
  return make_error(ErrorCode::resource_exhausted, "the stack of '" + base.reference + "' has " +
                                                       std::to_string(stack.layers.size()) + " layers; at most " +
                                                       std::to_string(kMaxLayers) + " can be mounted");
}

}  // namespace harena::image
