#include "sdk/session/file_messages.hpp"

#include <array>

#include "sdk/session/file_stream_messages.hpp"

namespace harena::session {

std::string_view to_string(FileType type) {
  constexpr std::array<std::string_view, 8> kNames = {"unknown", "file",   "directory", "symlink",
                                                      "fifo",    "socket", "character", "block"};
  auto index = static_cast<std::size_t>(type);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::string_view to_string(FileEventKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"unknown", "create", "write",     "remove",
                                                      "rename",  "attrib", "unwatched", "overflow"};
  auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

}  // namespace harena::session
