#include "core/lifecycle/private_folder.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

namespace harena {

Status make_private_folder(const std::string& path) {
  std::error_code problem;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), problem);
  if (::mkdir(path.c_str(), 0700) == 0) return ok_status();
  Error error = errno_error(errno, "making " + path);
  error.cause = Cause::infrastructure;
  error.cause_detail = "disk";
  return error;
}

}  // namespace harena
