#include "core/lifecycle/admission.hpp"

#include <sys/statvfs.h>

#include <fstream>

namespace harena {
namespace {

Error refused(std::string message) {
  Error error = make_error(ErrorCode::resource_exhausted, std::move(message));
  error.cause = Cause::infrastructure;
  error.cause_detail = "capacity";
  error.retry = Retry::other_node;
  return error;
}

Status check_promise(const char* what, std::int64_t asked, std::int64_t promised, std::int64_t most) {
  if (asked == 0 || asked <= most - promised) return ok_status();
  return refused("this edge has promised " + std::to_string(promised) + " of " + std::to_string(most) + " " + what +
                 "; " + std::to_string(asked) + " more don't fit");
}

Status check_room(const char* what, std::int64_t have, std::int64_t keep) {
  if (have >= keep) return ok_status();
  return refused("this edge has " + std::to_string(have) + " bytes of " + what + " available and keeps " +
                 std::to_string(keep));
}

}  // namespace

Status Admission::check_promises(const Resources& promised, const Resources& asked) const {
  HARENA_TRY_STATUS(check_promise("thousandths of a CPU", asked.cpu_milli, promised.cpu_milli, limits_.promise.cpu_milli));
  return check_promise("bytes of memory", asked.memory_bytes, promised.memory_bytes, limits_.promise.memory_bytes);
}

Status Admission::grow(const Resources& promised, const Resources& more) const {
  HARENA_TRY_STATUS(check_promises(promised, more));
  if (more.memory_bytes == 0) return ok_status();
  return check_room("memory", probe_().memory_available_bytes, limits_.min_memory_bytes);
}

Status Admission::admit(std::int64_t living, const Resources& promised, const Resources& asked) const {
  if (living >= limits_.max_sandboxes) {
    return refused("this edge runs " + std::to_string(living) + " sandboxes, its max_sandboxes");
  }
  HARENA_TRY_STATUS(check_promises(promised, asked));
  const HostRoom room = probe_();
  HARENA_TRY_STATUS(check_room("memory", room.memory_available_bytes, limits_.min_memory_bytes));
  return check_room("disk", room.disk_available_bytes, limits_.min_disk_bytes);
}

HostRoom read_host_room(const std::string& state_dir) {
  HostRoom room{INT64_MAX, INT64_MAX};
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    std::int64_t kilobytes = 0;
    meminfo >> kilobytes;
    std::getline(meminfo, unit);
    if (key == "MemAvailable:") room.memory_available_bytes = kilobytes * 1024;
  }
  struct statvfs fs{};
  if (::statvfs(state_dir.c_str(), &fs) == 0) {
    room.disk_available_bytes = static_cast<std::int64_t>(fs.f_bavail * fs.f_frsize);
  }
  return room;
}

}  // namespace harena
