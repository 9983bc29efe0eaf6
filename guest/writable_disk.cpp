#include "guest/writable_disk.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/support/files.hpp"
#include "sdk/support/id_range.hpp"
#include "sdk/support/mount_api.hpp"

namespace harena::guest {
namespace {

constexpr unsigned kAttributes = kMountNoDev | kMountNoSuid;

Result<UniqueFd> open_filesystem(const std::string& device, std::uint64_t memory_bytes) {
  if (device.empty()) {
    const auto size = memory_bytes == 0 ? std::string("25%") : std::to_string(memory_bytes);
    return new_filesystem("tmpfs", {{"size", size}, {"mode", "0755"}}, kAttributes);
  }
  auto disk = new_filesystem("ext4", {{"source", device}, {"noinit_itable", ""}, {"discard", ""}, {"errors", "remount-ro"}}, kAttributes);
  if (disk.ok()) return disk;
  return infrastructure_error(ErrorCode::failed_precondition, "disk", "the writable disk can't be mounted as ext4: " + disk.error().message);
}

Status own_folder(int disk, const char* name) {
  HARENA_TRY(UniqueFd folder, ensure_directory(disk, name, 0755));
  if (::fchown(folder.get(), kDefaultIdBase, kDefaultIdBase) != 0) return errno_error(errno, std::string("chown ") + name);
  return {};
}

}  // namespace

Status mount_writable_disk(const std::string& device, std::uint64_t memory_bytes) {
  HARENA_TRY(UniqueFd disk, open_filesystem(device, memory_bytes));
  HARENA_TRY(UniqueFd spot, ensure_directory(AT_FDCWD, kDiskFolder, 0700));
  HARENA_TRY_STATUS(attach_mount(disk.get(), spot.get(), ""));
  HARENA_TRY_STATUS(own_folder(disk.get(), "upper"));
  HARENA_TRY_STATUS(own_folder(disk.get(), "work"));
  HARENA_TRY(UniqueFd session, ensure_directory(disk.get(), "session", 0700));
  return {};
}

}  // namespace harena::guest
