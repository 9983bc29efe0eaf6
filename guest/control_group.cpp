#include "guest/control_group.hpp"

#include <fcntl.h>

#include <charconv>

#include "sdk/base/text.hpp"
#include "sdk/support/files.hpp"

namespace harena::guest {
namespace {

std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

Status set(int folder, const char* file, std::uint64_t value) {
  if (value == 0) return {};
  auto status = write_file_at(folder, file, std::to_string(value));
  return status.ok() ? Status() : Status(std::move(status).error().during("limit the sandbox"));
}

}  // namespace

Result<UniqueFd> make_sandbox_group(const GroupLimits& limits) {
  for (const char* controller : {"+cpu", "+memory", "+pids", "+io"}) {
    // A kernel without one of them fails at the limit that needs it.
    (void)write_file_at(AT_FDCWD, "/sys/fs/cgroup/cgroup.subtree_control", controller);
  }
  HARENA_TRY(UniqueFd folder, ensure_directory(AT_FDCWD, kSandboxGroup, 0755));
  HARENA_TRY_STATUS(set(folder.get(), "pids.max", limits.pids_max));
  HARENA_TRY_STATUS(set(folder.get(), "memory.max", limits.memory_max_bytes));
  return folder;
}

std::uint64_t group_number(const char* file) {
  auto text = read_file_at(AT_FDCWD, std::string(kSandboxGroup) + "/" + file);
  return text.ok() ? leading_number(*text) : 0;
}

std::uint64_t group_number(const char* file, const std::string& key) {
  auto text = read_file_at(AT_FDCWD, std::string(kSandboxGroup) + "/" + file);
  if (!text.ok()) return 0;
  for (const auto& line : split(*text, '\n')) {
    if (line.starts_with(key + " ")) return leading_number(std::string_view(line).substr(key.size() + 1));
  }
  return 0;
}

}  // namespace harena::guest
