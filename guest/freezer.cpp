#include "guest/freezer.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "guest/control_group.hpp"
#include "guest/writable_disk.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

namespace harena::guest {
namespace {

constexpr std::int64_t kPatienceNs = 10'000'000'000;

Status set_frozen(bool on) {
  return write_file_at(AT_FDCWD, std::string(kSandboxGroup) + "/cgroup.freeze", on ? "1" : "0");
}

/// The kernel tells of each change of cgroup.events by POLLPRI.
Status await_frozen() {
  UniqueFd events(::open((std::string(kSandboxGroup) + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!events) return errno_error(errno, "open cgroup.events");
  const auto deadline = monotonic_now_ns() + kPatienceNs;
  while (group_number("cgroup.events", "frozen") != 1) {
    char buffer[256];
    (void)!::pread(events.get(), buffer, sizeof buffer, 0);
    if (group_number("cgroup.events", "frozen") == 1) break;
    pollfd wait{events.get(), POLLPRI, 0};
    if (::poll(&wait, 1, poll_timeout_ms(deadline)) == 0) {
      return infrastructure_error(ErrorCode::deadline_exceeded, "guest", "a process of the sandbox can't be frozen: it hangs in the kernel");
    }
  }
  return {};
}

}  // namespace

Status Freezer::freeze_disk() {
  if (disk_) return {};
  UniqueFd disk(::open(kDiskFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!disk) return errno_error(errno, "open the writable disk");
  // It syncs first. EOPNOTSUPP: a tmpfs, where there is nothing to be written out.
  if (::ioctl(disk.get(), FIFREEZE, 0) != 0 && errno != EOPNOTSUPP && errno != EBUSY) return errno_error(errno, "freeze the writable disk");
  disk_ = std::move(disk);
  return {};
}

Status Freezer::freeze(bool filesystems) {
  auto status = set_frozen(true);
  if (status.ok()) status = await_frozen();
  frozen_ = status.ok();
  if (status.ok() && filesystems) status = freeze_disk();
  if (!status.ok()) (void)thaw();
  return status;
}

Status Freezer::thaw() {
  // The file system first: a process that runs again may wait for it at once.
  if (auto disk = std::move(disk_); disk) (void)::ioctl(disk.get(), FITHAW, 0);
  HARENA_TRY_STATUS(set_frozen(false));
  frozen_ = false;
  return {};
}

}  // namespace harena::guest
