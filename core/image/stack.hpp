#pragma once
// Stack: what a sandbox sees of its images. Base, then workspaces, then toolkits become one ordered list of layers
// (lowest first) and one config. Pure.
//
// Which layers. Laid over each other in the order named, with two rules about a layer that occurs more than once
// (overlayfs refuses the same lower twice):
//  1. The leading layers of a workspace or toolkit that the stack below it already holds are what it was built on, not
//     what it brings; they aren't laid again. So a toolkit made FROM the base never reverts what lies over that base.
//  2. Of any other repeated layer the highest stays and the lower ones go: every path of the lower one is covered by
//     the higher one, so the view is the same.
//
// Which config. The base's. A workspace or toolkit changes only the fields that its manifest declares in `overrides`.
//
// How deep. kMaxLayers (128) layers in all. The kernel allows 500 lowers, but before 6.8 (`lowerdir+`) all their names
// must fit into one page of mount options: 4,096 bytes / 128 leave 31 characters a layer, which the backends' short
// names need; and a look-up of a name that doesn't exist asks every layer.

#include <span>
#include <string>
#include <vector>

#include "core/image/manifest.hpp"
#include "core/image/reference.hpp"

namespace harena::image {

/// One image of a stack, as named and as found.
struct StackImage {
  std::string reference;  ///< for messages
  Manifest manifest;
};

struct Stack {
  std::vector<LayerEntry> layers;  ///< lowest first, no digest twice
  ImageConfig config;
};

/// invalid_argument when there is no base, a kind stands in the wrong place (the message names the reference and the
/// place) or the architectures differ; resource_exhausted for more than kMaxLayers layers.
Result<Stack> make_stack(const StackImage& base, std::span<const StackImage> workspaces,
                         std::span<const StackImage> toolkits);

}  // namespace harena::image
