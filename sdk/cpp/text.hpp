#pragma once
// harena_str and std::string_view, one into the other. Nothing is copied: a view lives as long as its call.

#include <cstddef>
#include <string_view>

#include "sdk/abi/types.h"

namespace harena::plugin {

constexpr std::string_view to_view(harena_str text) {
  return text.ptr == nullptr ? std::string_view{} : std::string_view(text.ptr, static_cast<std::size_t>(text.len));
}

constexpr harena_str to_abi(std::string_view text) { return harena_str{text.data(), text.size()}; }

/// True when `object`, whose author filled struct_size, reaches to the end of `member`.
#define HARENA_ABI_HAS(object, member)                                                         \
  ((object) != nullptr &&                                                                      \
   (object)->struct_size >= offsetof(std::remove_cvref_t<decltype(*(object))>, member) +       \
                                sizeof((object)->member) &&                                    \
   (object)->member != nullptr)

}  // namespace harena::plugin
