#include "guest/disks.hpp"

#include <fcntl.h>

#include "sdk/support/files.hpp"

namespace harena::guest {

Result<std::string> disk_with_serial(const std::string& serial) {
  if (serial.empty() || serial.size() > kMaxSerialBytes) {
    return make_error(ErrorCode::invalid_argument, "disk '" + serial + "': a serial of 1 to 20 bytes is right");
  }
  HARENA_TRY(auto names, list_directory(AT_FDCWD, "/sys/block"));
  std::string known;
  for (const auto& name : names) {
    auto found = read_file_at(AT_FDCWD, "/sys/block/" + name + "/serial");
    if (!found.ok()) continue;
    const auto text = found->substr(0, found->find_first_of(std::string_view("\n\0", 2)));
    if (text == serial) return "/dev/" + name;
    known += (known.empty() ? "" : ", ") + text;
  }
  return make_error(ErrorCode::not_found, "the machine has no disk '" + serial + "'; it has: " + (known.empty() ? "none" : known));
}

}  // namespace harena::guest
