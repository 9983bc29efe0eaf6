#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <filesystem>

#include "core/edge/edge_role.hpp"

namespace harena {
namespace {

Status make_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(errno, "making " + path);
  // Others may not look in: upper layers hold files with any owner and set-uid bits.
  if (::chmod(path.c_str(), 0700) != 0) return errno_error(errno, "chmod " + path);
  return ok_status();
}

/// flock(2), since it ends with the process however that ends.
Result<UniqueFd> lock_folder(const std::string& folder) {
  const std::string path = folder + "/harenad.lock";
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return errno_error(errno, "opening " + path);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return make_error(ErrorCode::failed_precondition,
                    "another harenad uses " + folder + "; stop it, or give this one another state_dir");
}

}  // namespace

Step EdgeRole::folders_step() {
  return {"folders",
          [this]() -> Status {
            const auto& config = parts_.config;
            for (const auto& folder : {config.state_dir, config.run_dir}) HARENA_TRY_STATUS(make_folder(folder));
            HARENA_TRY(lock_, lock_folder(config.state_dir));
            for (const auto& parent : {config.state_dir, config.run_dir}) {
              HARENA_TRY_STATUS(make_folder(parent + "/sandboxes"));
            }
            return ok_status();
          },
          [this] { lock_.reset(); }};
}

}  // namespace harena
