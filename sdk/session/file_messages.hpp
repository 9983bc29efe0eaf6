#pragma once
// Files of the sandbox. Paths are bytes, absolute or relative to "/", resolved inside the sandbox's own tree; at
// most kMaxPathBytes. `user` is as in StartRequest: what that user may not do is permission_denied.
// Whatever would open a FIFO, a socket or a device is failed_precondition.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sdk/session/fields.hpp"

namespace harena::session {

/// PATH_MAX of Linux, its final NUL not counted.
inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::uint32_t kMaxListEntries = 10'000;
/// Of names and targets in one answer to file_list: so that deep trees with long names don't make answers of a gigabyte.
inline constexpr std::size_t kMaxListPageBytes = 4 << 20;

enum class FileType : std::uint8_t { unknown = 0, file = 1, directory = 2, symlink = 3, fifo = 4, socket = 5, character = 6, block = 7 };
std::string_view to_string(FileType type);

struct FileStat {
  static constexpr bool kIsMessage = true;
  /// As asked, or relative to the listed folder.
  std::string path;
  FileType type = FileType::unknown;
  /// Permission bits, 07777.
  std::uint32_t mode = 0;
  /// As seen inside the sandbox.
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
  /// Of a symlink.
  std::string target;
  /// Last change of content or attributes; 0 from an endpoint that doesn't tell.
  std::int64_t ctime_ns = 0;
  /// The endpoint's clock when it looked, in the answers to file_read and file_stat_get: a change within the same tick of the
  /// file system's clock (10 ms at most) as this look can't be told by ctime_ns.
  std::int64_t seen_ns = 0;
  /// In a recursive list: why a folder's content isn't there: "permission_denied", or "path_too_long" (its entries' paths would be
  /// over kMaxPathBytes, so no call could name them).
  std::string unlisted;
  /// In a list that asked for them: name and value, sorted by name.
  std::vector<std::pair<std::string, std::string>> xattrs;
  bool operator==(const FileStat&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileStat::path);
    f(2, &FileStat::type);
    f(3, &FileStat::mode);
    f(4, &FileStat::uid);
    f(5, &FileStat::gid);
    f(6, &FileStat::size);
    f(7, &FileStat::mtime_ns);
    f(8, &FileStat::inode);
    f(9, &FileStat::links);
    f(10, &FileStat::target);
    f(11, &FileStat::ctime_ns);
    f(12, &FileStat::seen_ns);
    f(13, &FileStat::unlisted);
    f(14, &FileStat::xattrs);
  }
};

/// Answer: file_stat, data*, ok. out_of_range when offset is past the end. With `ask` the endpoint waits behind file_stat for the
/// client's file_range (a FileRange; the part that it then sends) or data_end (no part: ok at once), so that a choice which
/// depends on the file's state is made about the very file that is read.
struct FileReadRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  std::uint64_t offset = 0;
  /// Default: to the end as it was at the start.
  std::optional<std::uint64_t> length;
  bool ask = false;
  bool operator==(const FileReadRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileReadRequest::path);
    f(2, &FileReadRequest::user);
    f(3, &FileReadRequest::offset);
    f(4, &FileReadRequest::length);
    f(5, &FileReadRequest::ask);
  }
};

struct FileRange {
  static constexpr bool kIsMessage = true;
  std::uint64_t offset = 0;
  /// Default: to the end as it was in file_stat.
  std::optional<std::uint64_t> length;
  bool operator==(const FileRange&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileRange::offset);
    f(2, &FileRange::length);
  }
};

/// Answer: ready; then the client's data*, data_end; then ok with FileStat. The file appears under its name at
/// once and whole, when data_end was read; a connection that ends before leaves nothing. With `offset` the bytes go into the
/// file that is there (not_found otherwise), in place and as they come, so that is not atomic; an offset past its end is
/// out_of_range, and mode, parents and exclusive can't be given.
struct FileWriteRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  /// Default: that of the file that is replaced, else 0644.
  std::optional<std::uint32_t> mode;
  /// Create missing folders (0755).
  bool parents = false;
  /// already_exists when the name is taken.
  bool exclusive = false;
  std::optional<std::uint64_t> offset;
  bool operator==(const FileWriteRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileWriteRequest::path);
    f(2, &FileWriteRequest::user);
    f(3, &FileWriteRequest::mode);
    f(4, &FileWriteRequest::parents);
    f(5, &FileWriteRequest::exclusive);
    f(6, &FileWriteRequest::offset);
  }
};

/// Answer: entries* (FileEntries), ok (FileListEnd). Order: by name bytes, a folder before what is in it. Fewer entries than
/// `limit` may come with a cursor: a page has about kMaxListPageBytes at most.
struct FileListRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool recursive = false;
  /// The path of the last entry that the client has; the listing goes on behind it, also when it's gone.
  std::string cursor;
  /// 1 to kMaxListEntries.
  std::uint32_t limit = 1000;
  /// Entries come with the extended attributes whose names begin so; empty: with none. Needs kFeatureListXattrs.
  std::string xattrs;
  bool operator==(const FileListRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileListRequest::path);
    f(2, &FileListRequest::user);
    f(3, &FileListRequest::recursive);
    f(4, &FileListRequest::cursor);
    f(5, &FileListRequest::limit);
    f(6, &FileListRequest::xattrs);
  }
};

struct FileEntries {
  static constexpr bool kIsMessage = true;
  std::vector<FileStat> entries;
  bool operator==(const FileEntries&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileEntries::entries);
  }
};

struct FileListEnd {
  static constexpr bool kIsMessage = true;
  /// Empty: that was all.
  std::string cursor;
  bool operator==(const FileListEnd&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileListEnd::cursor);
  }
};

/// stat (ok with FileStat; a final symlink is followed if `follow`) and readlink (FileStat with target).
struct FilePathRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool follow = false;
  bool operator==(const FilePathRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FilePathRequest::path);
    f(2, &FilePathRequest::user);
    f(3, &FilePathRequest::follow);
  }
};

/// With parents (mkdir -p) an existing folder is fine.
struct FileMkdirRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  std::uint32_t mode = 0755;
  bool parents = false;
  bool operator==(const FileMkdirRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileMkdirRequest::path);
    f(2, &FileMkdirRequest::user);
    f(3, &FileMkdirRequest::mode);
    f(4, &FileMkdirRequest::parents);
  }
};

/// Removes a symlink itself. A folder needs `recursive` unless it's empty; mounts inside are failed_precondition.
struct FileRemoveRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  bool recursive = false;
  bool operator==(const FileRemoveRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileRemoveRequest::path);
    f(2, &FileRemoveRequest::user);
    f(3, &FileRemoveRequest::recursive);
  }
};

/// rename(2): atomic, within one file system.
struct FileMoveRequest {
  static constexpr bool kIsMessage = true;
  std::string from;
  std::string to;
  std::string user;
  /// Replace what is there (false: already_exists).
  bool replace = true;
  bool operator==(const FileMoveRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileMoveRequest::from);
    f(2, &FileMoveRequest::to);
    f(3, &FileMoveRequest::user);
    f(4, &FileMoveRequest::replace);
  }
};

struct FileChmodRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  std::uint32_t mode = 0;
  bool operator==(const FileChmodRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileChmodRequest::path);
    f(2, &FileChmodRequest::user);
    f(3, &FileChmodRequest::mode);
  }
};

struct FileChownRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  /// "name", "uid", with ":group" as in StartRequest::user.
  std::string owner;
  bool operator==(const FileChownRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileChownRequest::path);
    f(2, &FileChownRequest::user);
    f(3, &FileChownRequest::owner);
  }
};

struct FileSymlinkRequest {
  static constexpr bool kIsMessage = true;
  std::string target;
  std::string path;
  std::string user;
  bool operator==(const FileSymlinkRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileSymlinkRequest::target);
    f(2, &FileSymlinkRequest::path);
    f(3, &FileSymlinkRequest::user);
  }
};

struct FileTruncateRequest {
  static constexpr bool kIsMessage = true;
  std::string path;
  std::string user;
  std::uint64_t size = 0;
  bool operator==(const FileTruncateRequest&) const = default;
  template <class F>
  static void fields(F& f) {
    f(1, &FileTruncateRequest::path);
    f(2, &FileTruncateRequest::user);
    f(3, &FileTruncateRequest::size);
  }
};

}  // namespace harena::session
