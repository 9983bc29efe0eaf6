#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {

void Report::add(std::string rule, Verdict verdict, std::string detail) {
  findings_.push_back({row_, std::move(rule), verdict, std::move(detail)});
}

void Report::refused(const std::string& rule, long answer, std::initializer_list<int> right) {
  const int error = errno;
  if (answer >= 0) return broken(rule, "it succeeded");
  const bool good = std::find(right.begin(), right.end(), error) != right.end();
  check(rule, good, errno_name(error));
}

std::string errno_name(int number) {
  const char* name = ::strerrorname_np(number);
  return name != nullptr ? name : std::to_string(number);
}

std::string read_file(const std::string& path) {
  constexpr std::size_t kMost = 1 << 20;
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) return {};
  std::string text;
  std::array<char, 65536> part;
  ssize_t got = 0;
  while (text.size() < kMost && (got = ::read(fd, part.data(), part.size())) > 0) text.append(part.data(), static_cast<std::size_t>(got));
  const int error = got < 0 ? errno : 0;
  ::close(fd);
  errno = error;
  return text;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  DIR* dir = ::opendir(folder.c_str());
  if (dir == nullptr) return names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(dir);
  return names;
}

std::vector<int> process_ids() {
  std::vector<int> pids;
  for (const auto& name : names_in("/proc")) {
    if (name.find_first_not_of("0123456789") == std::string::npos) pids.push_back(std::stoi(name));
  }
  return pids;
}

}  // namespace harena::incidents
