#include "core/lifecycle/admission.hpp"

#include <sys/statvfs.h>

#include <fstream>

namespace harena {
namespace {

Error refused(const std::string& what, std::int64_t have, std::int64_t need) {
  Error error = make_error(ErrorCode::resource_exhausted, "this edge has " + std::to_string(have) + " " + what +
                                                              " and keeps " + std::to_string(need));
  error.cause = Cause::infrastructure;
  error.cause_detail = "capacity";
  error.retry = Retry::other_node;
  return error;
}

}  // namespace

Status Admission::admit(std::int64_t living) const {
  if (living >= limits_.max_sandboxes) {
    Error error = make_error(ErrorCode::resource_exhausted,
                             "this edge runs " + std::to_string(living) + " sandboxes, its max_sandboxes");
    error.cause = Cause::infrastructure;
    error.cause_detail = "capacity";
    error.retry = Retry::other_node;
    return error;
  }
  const HostRoom room = probe_();
  if (room.memory_available_bytes < limits_.min_memory_bytes) {
    return refused("bytes of memory available", room.memory_available_bytes, limits_.min_memory_bytes);
  }
  if (room.disk_available_bytes < limits_.min_disk_bytes) {
    return refused("bytes of disk available", room.disk_available_bytes, limits_.min_disk_bytes);
  }
  return ok_status();
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
