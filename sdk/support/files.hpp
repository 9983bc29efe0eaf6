#pragma once
// Small whole-file reads and writes relative to a directory descriptor, and the removal of a hostile tree.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Opens a directory, never through a final symlink.
Result<UniqueFd> open_directory(int at, const std::string& path);
/// Makes the directory if it isn't there (mode as given, no parents) and opens it.
Result<UniqueFd> ensure_directory(int at, const std::string& path, unsigned mode);

/// The whole file, at most `max_bytes` (default 1 MiB); out_of_range if it is longer.
Result<std::string> read_file_at(int at, const std::string& path, std::size_t max_bytes = 1 << 20);
/// One write(2) of `text` into a file that exists: what cgroup and proc files want. Never creates.
Status write_file_at(int at, const std::string& path, std::string_view text);
/// Creates or truncates, then writes all. O_NOFOLLOW.
Status create_file_at(int at, const std::string& path, std::string_view text, unsigned mode);

/// Names in the directory, without "." and "..", sorted.
Result<std::vector<std::string>> list_directory(int at, const std::string& path);

/// Removes `name` below `at` with all it holds; succeeds when it isn't there. Made for trees written by an enemy: follows
/// no symlink, crosses no path of more than two components and uses a constant number of descriptors however deep
/// the tree is (nested directories are first moved up, then removed).
Status remove_tree_at(int at, const std::string& name);

}  // namespace harena
