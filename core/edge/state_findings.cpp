#include "core/edge/state_findings.hpp"

#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <array>

namespace harena {
namespace {

using nlohmann::json;

/// linux/magic.h; which of them can hold the upper layer of an overlay (it needs trusted.* attributes, d_type and whiteouts).
struct Kind {
  std::uint64_t type;
  const char* name;
  bool holds_uppers;
  bool survives_reboot;
};
constexpr std::array kKinds = {Kind{0xEF53, "ext4", true, true},          Kind{0x58465342, "XFS", true, true},
                               Kind{0x9123683E, "Btrfs", true, true},     Kind{0xF2F52010, "F2FS", true, true},
                               Kind{0x2FC12FC1, "ZFS", true, true},       Kind{0x01021994, "tmpfs", true, false},
                               Kind{0x794C7630, "overlay", false, false}, Kind{0x6969, "NFS", false, true},
                               Kind{0x65735546, "FUSE", false, true},     Kind{0xFF534D42, "CIFS", false, true},
                               Kind{0x01021997, "9p", false, true}};

json finding(const char* id, const char* level, std::string what, std::string why, std::string fix) {
  return {{"id", id}, {"level", level}, {"what", std::move(what)}, {"why", std::move(why)}, {"fix", std::move(fix)}};
}

const char* const kMove = "set state_dir in harena.json to a folder on a local disk (ext4, XFS, Btrfs)";

void find_kind(const StateDisk& disk, const std::string& state_dir, json& found) {
  for (const auto& kind : kKinds) {
    if (kind.type != disk.type) continue;
    const std::string what = "the state folder " + state_dir + " is on " + kind.name;
    if (!kind.holds_uppers) {
      found.push_back(finding("state.type", "error", what, "the kernel can't keep what sandboxes write there: an overlay's upper layer needs a local file system", kMove));
    } else if (!kind.survives_reboot) {
      found.push_back(finding("state.type", "warning", what, "it is memory, and gone at the next boot: images, tokens and all", kMove));
    }
    return;
  }
}

void find_flags(const StateDisk& disk, const std::string& state_dir, json& found) {
  const std::string remount = "mount -o remount,";
  if ((disk.flags & ST_RDONLY) != 0) {
    found.push_back(finding("state.read_only", "error", state_dir + " is mounted read-only", "nothing can be stored", remount + "rw the file system of " + state_dir));
  }
  if ((disk.flags & ST_NOEXEC) != 0) {
    found.push_back(finding("state.noexec", "error", state_dir + " is mounted noexec", "programs that a sandbox writes don't run", remount + "exec the file system of " + state_dir));
  }
  if ((disk.flags & ST_NOSUID) != 0) {
    found.push_back(finding("state.nosuid", "warning", state_dir + " is mounted nosuid", "sudo and ping in a sandbox's own layer don't work", remount + "suid the file system of " + state_dir));
  }
}

void find_inodes(const StateDisk& disk, const std::string& state_dir, json& found) {
  constexpr std::uint64_t kFew = 50'000;  // about one unpacked Debian
  if (disk.inodes == 0 || disk.inodes_available >= kFew) return;
  found.push_back(finding("state.inodes", "warning", std::to_string(disk.inodes_available) + " of " + std::to_string(disk.inodes) + " inodes are free in " + state_dir,
                          "sandboxes can't create files any more, whatever room the disk has", "remove images (harena images rm), or use a file system with more inodes"));
}

}  // namespace

StateDisk read_state_disk(const std::string& state_dir) {
  StateDisk disk;
  struct statfs info{};
  if (::statfs(state_dir.c_str(), &info) == 0) disk.type = static_cast<std::uint32_t>(info.f_type);
  struct statvfs more{};
  if (::statvfs(state_dir.c_str(), &more) != 0) return disk;
  disk.flags = more.f_flag;
  disk.inodes = more.f_files;
  disk.inodes_available = more.f_favail;
  return disk;
}

json state_findings(const StateDisk& disk, const std::string& state_dir) {
  json found = json::array();
  find_kind(disk, state_dir, found);
  find_flags(disk, state_dir, found);
  find_inodes(disk, state_dir, found);
  if (found.empty()) found.push_back(finding("state", "ok", "the file system of " + state_dir + " can hold sandboxes", "", ""));
  return found;
}

}  // namespace harena
