#pragma once
// Files of the sandbox, continued: extended attributes, watching a folder, whole folders as tar.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "sdk/session/fields.hpp"

namespace harena::session {

/// XATTR_NAME_MAX and XATTR_SIZE_MAX of Linux.
inline constexpr std::size_t kMaxXattrNameBytes = 255;
inline constexpr std::size_t kMaxXattrValueBytes = 64 << 10;

/// Answer: ok with FileXattrs. A final symlink is followed if `follow`.
struct FileXattrListRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool follow = false;
  bool operator==(const FileXattrListRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileXattrListRequest::path);
    f(2, &FileXattrListRequest::user);
    f(3, &FileXattrListRequest::follow);
  }
};

struct FileXattrs {
  static constexpr bool kIsMessage = true;
  /// Name and value, sorted by name.
  std::vector<std::pair<std::string, std::string>> xattrs;
  bool operator==(const FileXattrs&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileXattrs::xattrs);
  }
};

/// Makes or replaces one. unimplemented: the file system has none of that kind.
struct FileXattrSetRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  /// With its namespace: "user.origin".
  std::string name;
  std::string value;
  bool follow = false;
  bool operator==(const FileXattrSetRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileXattrSetRequest::path);
    f(2, &FileXattrSetRequest::user);
    f(3, &FileXattrSetRequest::name);
    f(4, &FileXattrSetRequest::value);
    f(5, &FileXattrSetRequest::follow);
  }
};

/// not_found when there is none of that name.
struct FileXattrRemoveRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  std::string name;
  bool follow = false;
  bool operator==(const FileXattrRemoveRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileXattrRemoveRequest::path);
    f(2, &FileXattrRemoveRequest::user);
    f(3, &FileXattrRemoveRequest::name);
    f(4, &FileXattrRemoveRequest::follow);
  }
};

/// Answer: ready when every folder is watched, then file_event* (FileEvent), and ok when the folder itself was removed, moved or
/// unmounted. resource_exhausted (limit "inotify") when the kernel grants no more watches.
struct FileWatchRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  /// Folders inside too, those that come later included.
  bool recursive = false;
  bool operator==(const FileWatchRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileWatchRequest::path);
    f(2, &FileWatchRequest::user);
    f(3, &FileWatchRequest::recursive);
  }
};

enum class FileEventKind : std::uint8_t {
  unknown = 0,
  create = 1,
  write = 2,
  remove = 3,
  rename = 4,
  attrib = 5,
  /// A folder whose content can't be watched: the user may not read it, or its path is over kMaxPathBytes.
  unwatched = 6,
  /// Events were lost; all folders are watched again by now. What there is must be listed anew.
  overflow = 7
};
std::string_view to_string(FileEventKind kind);

struct FileEvent {
  static constexpr bool kIsMessage = true;
  FileEventKind kind = FileEventKind::unknown;
  /// Relative to the watched folder; empty: the folder itself.
  std::string path;
  /// Of a rename inside the watched tree.
  std::string to;
  bool is_dir = false;
  bool operator==(const FileEvent&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileEvent::kind);
    f(2, &FileEvent::path);
    f(3, &FileEvent::to);
    f(4, &FileEvent::is_dir);
  }
};

/// Answer: file_stat of the folder, data* (a tar stream in the pax format), ok with FileArchiveEnd.
struct FileArchiveReadRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool operator==(const FileArchiveReadRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileArchiveReadRequest::path);
    f(2, &FileArchiveReadRequest::user);
  }
};

/// Answer: ready; then the client's data* (a tar stream: ustar, pax, GNU), data_end; then ok with FileArchiveEnd. An entry that
/// leads out of the folder, a device, FIFO or socket ends it: invalid_argument naming the entry and how many came before.
struct FileArchiveWriteRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool operator==(const FileArchiveWriteRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileArchiveWriteRequest::path);
    f(2, &FileArchiveWriteRequest::user);
  }
};

struct FileArchiveEnd {
  static constexpr bool kIsMessage = true;
  std::uint64_t entries = 0;
  /// Of the files' contents; holes don't count.
  std::uint64_t bytes = 0;
  bool operator==(const FileArchiveEnd&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileArchiveEnd::entries);
    f(2, &FileArchiveEnd::bytes);
  }
};

}  // namespace harena::session
