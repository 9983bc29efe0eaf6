#pragma once
// Pieces of a sandbox's root, as a container's launcher and a guest's agent put it together: its own /dev, masks over /proc and /sys, and the
// move into it. `owner` is the id outside of the sandbox's root.

#include <cstdint>
#include <span>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena {

inline constexpr unsigned kNoAccess = kMountNoSuid | kMountNoDev | kMountNoExec;

/// Opens path as someone chrooted in `root` would: no link of the image leads out of it.
Result<UniqueFd> open_in_root(int root, const std::string& path, std::uint64_t flags);
/// The folder `path` (no leading slash) as someone chrooted in `root` would find it, made with its parents where it isn't.
Result<UniqueFd> folder_in_root(int root, const std::string& path, std::uint32_t owner);
/// A detached or attached mount onto that folder.
Status mount_in_root(int mount, int root, const std::string& path, std::uint32_t owner);

/// `size`: bytes, or a part of the memory ("50%").
MountOptions tmpfs_options(std::uint32_t owner, const std::string& size, const char* mode);

/// A detached tmpfs with the devices and links that programs expect. Nodes are made, not bound from the machine's /dev: the sandbox shares no
/// inode with it.
Result<UniqueFd> make_dev(std::uint32_t owner);
/// Its pts and shm, once it is attached.
Status mount_into_dev(int dev, std::uint32_t owner, const std::string& shm_size);

/// Over each of these that is there, without the leading slash: an empty file, an empty read-only folder, itself read-only.
Status mask_files(int root, int dev, std::span<const char* const> paths);
Status mask_folders(int root, std::uint32_t owner, std::span<const char* const> paths);
Status make_read_only(int root, std::span<const char* const> paths);

/// A regular file or link of the image is replaced; whatever else has its name is left as the image has it.
Status write_etc(int etc, const char* name, const std::string& text, std::uint32_t owner);
/// The text for a file that write_etc has made empty.
Status fill_etc(int etc, const char* name, const std::string& text);
/// The content of /etc/hosts.
std::string hosts_text(const std::string& hostname);

/// `root`, which is attached, becomes "/" of the calling process's mount namespace, and nothing else is reachable.
Status become_root_folder(int root);

}  // namespace harena
