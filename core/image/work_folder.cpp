#include "core/image/work_folder.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

namespace harena::image {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kPrefix = "import.";

Error failed(const std::error_code& why, const std::string& what) {
  Error plain = errno_error(why.value(), what);
  return infrastructure_error(plain.code, "image-work", std::move(plain.message));
}

Result<UniqueFd> lock_folder(const fs::path& root) {
  UniqueFd fd(::open((root / "lock").c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return failed({errno, std::generic_category()}, "open '" + root.string() + "/lock'");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return make_error(ErrorCode::failed_precondition, "the import's work folder '" + root.string() + "' is used by another process");
}

Status remove_left_overs(const fs::path& root) {
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator(root, failure)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    std::error_code removal;
    fs::remove_all(entry.path(), removal);  // descends by descriptors, follows no links
    if (removal) return failed(removal, "removing '" + entry.path().string() + "'");
  }
  return failure ? Status(failed(failure, "reading '" + root.string() + "'")) : ok_status();
}

}  // namespace

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;  // what stays is removed at the next start
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<std::unique_ptr<WorkFolder>> WorkFolder::open(const fs::path& root, RandomSource& random) {
  if (!root.is_absolute()) {
    return make_error(ErrorCode::invalid_argument, "the import's work folder is '" + root.string() + "'; it must be an absolute path");
  }
  std::error_code failure;
  fs::create_directories(root.parent_path(), failure);
  if (failure) return failed(failure, "making the folder above '" + root.string() + "'");
  if (::mkdir(root.c_str(), 0700) != 0 && errno != EEXIST) return failed({errno, std::generic_category()}, "mkdir '" + root.string() + "'");
  HARENA_TRY(auto lock, lock_folder(root));
  HARENA_TRY_STATUS(remove_left_overs(root));
  return std::unique_ptr<WorkFolder>(new WorkFolder(root, std::move(lock), random));
}

Result<TemporaryFolder> WorkFolder::make() {
  const auto path = root_ / (std::string(kPrefix) + random_.hex(8));
  if (::mkdir(path.c_str(), 0700) != 0) return failed({errno, std::generic_category()}, "mkdir '" + path.string() + "'");
  return TemporaryFolder(path);
}

}  // namespace harena::image
