#pragma once
// The trusted tools (incidents row 4): static programs of the platform on a read-only memory file system that all sandboxes of a
// launcher share. Nobody inside can change, cover or read them:
//  - the mount belongs to the host's user namespace, so no sandbox can remount or unmount it, and nothing of the host's disks shows;
//  - the files are execute-only and owned by the host's root, who has no number inside: the kernel makes every process that runs
//    one of them undumpable, and lets nobody of the sandbox trace it, whatever capabilities they hold there (would_dump, exec.c).

#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

/// Where sandboxes have them: below /dev, which is the platform's own in every sandbox, so that neither the image nor a snapshot sees it.
inline constexpr const char* kToolsPath = "/dev/trusted";
inline constexpr std::size_t kMostToolsBytes = 64u << 20;
inline constexpr std::size_t kMostTools = 4096;

/// Copies the folder (programs, and links between them by bare names) onto a memory file system at `spot`, which is made.
/// invalid_argument names an entry that is neither; out_of_range for more than the two limits.
Status mount_tools(int folder, const std::string& spot);

}  // namespace harena::container
