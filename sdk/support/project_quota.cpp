#include "sdk/support/project_quota.hpp"

#include <fcntl.h>
#include <linux/dqblk_xfs.h>
#include <linux/fs.h>
#include <linux/quota.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "sdk/support/files.hpp"

namespace harena {
namespace {

/// dqb_bhardlimit counts these.
constexpr std::int64_t kUnit = 1024;

long quotactl_fd(int fd, unsigned command, std::uint32_t id, void* argument) {
  return ::syscall(SYS_quotactl_fd, fd, QCMD(command, PRJQUOTA), id, argument);
}

Error none(const std::string& folder, const std::string& why) {
  return make_error(ErrorCode::failed_precondition,
                    "the file system of " + folder + " has no project quotas (" + why +
                        "); XFS has them mounted with -o prjquota, ext4 after tune2fs -O project,quota -Q prjquota and mounted with -o prjquota");
}

Result<fsxattr> attributes_of(int file) {
  fsxattr attributes{};
  if (::ioctl(file, FS_IOC_FSGETXATTR, &attributes) == 0) return attributes;
  return errno_error(errno, "FS_IOC_FSGETXATTR");
}

Status give_project(int folder, std::uint32_t project) {
  HARENA_TRY(fsxattr attributes, attributes_of(folder));
  attributes.fsx_projid = project;
  attributes.fsx_xflags |= FS_XFLAG_PROJINHERIT;
  if (::ioctl(folder, FS_IOC_FSSETXATTR, &attributes) == 0) return {};
  return errno_error(errno, "give a folder the project " + std::to_string(project));
}

}  // namespace

Result<ProjectQuota> ProjectQuota::open(const std::string& folder) {
  HARENA_TRY(UniqueFd fd, open_directory(AT_FDCWD, folder));
  fs_quota_statv state{};
  state.qs_version = FS_QSTATV_VERSION1;
  if (quotactl_fd(fd.get(), Q_XGETQSTATV, 0, &state) != 0) return none(folder, errno_error(errno, "quotactl_fd").message);
  constexpr unsigned kBoth = FS_QUOTA_PDQ_ACCT | FS_QUOTA_PDQ_ENFD;
  if ((state.qs_flags & kBoth) != kBoth) return none(folder, "they aren't both counted and enforced");
  return ProjectQuota(std::move(fd));
}

Status ProjectQuota::assign(int folder, std::uint32_t project) const {
  return give_project(folder, project);
}

Status follow_project(int from, int to) {
  fsxattr attributes{};
  if (::ioctl(from, FS_IOC_FSGETXATTR, &attributes) != 0 || attributes.fsx_projid == 0) return {};
  return give_project(to, attributes.fsx_projid);
}

Result<std::uint32_t> ProjectQuota::project_of(int file) const {
  HARENA_TRY(const fsxattr attributes, attributes_of(file));
  return attributes.fsx_projid;
}

Status ProjectQuota::set(std::uint32_t project, const ProjectLimits& limits) const {
  if_dqblk block{};
  block.dqb_bhardlimit = static_cast<std::uint64_t>((limits.bytes + kUnit - 1) / kUnit);
  block.dqb_ihardlimit = static_cast<std::uint64_t>(limits.inodes);
  block.dqb_valid = QIF_LIMITS;
  if (quotactl_fd(folder_.get(), Q_SETQUOTA, project, &block) == 0) return {};
  return errno_error(errno, "set the quota of project " + std::to_string(project));
}

Result<ProjectUsage> ProjectQuota::usage(std::uint32_t project) const {
  if_dqblk block{};
  if (quotactl_fd(folder_.get(), Q_GETQUOTA, project, &block) != 0) {
    if (errno == ENOENT || errno == ESRCH) return ProjectUsage{};  // nobody has ever used it
    return errno_error(errno, "read the quota of project " + std::to_string(project));
  }
  return ProjectUsage{static_cast<std::int64_t>(block.dqb_curspace), static_cast<std::int64_t>(block.dqb_curinodes)};
}

}  // namespace harena
