// Row 14: bombs. `bomb KIND` goes off and goes on until it is killed or has run into a limit; row 14 from inside are odd names and
// sizes, which must be an errno and nothing else. Row 11: floods of output.

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/incidents/attacks/attack.hpp"

namespace harena::incidents {
namespace {

/// Forks until it can't; every child stays. Prints the errno of the first refusal.
int fork_bomb() {
  int born = 0;
  while (true) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::pause();
      ::_exit(0);
    }
    if (pid < 0) break;
    ++born;
  }
  std::printf("%d %s\n", born, errno_name(errno).c_str());
  std::fflush(stdout);
  return 7;
}

/// Threads are processes to the limit.
int thread_bomb() {
  constexpr int kMost = 100'000;
  int born = 0, error = 0;
  for (pthread_t thread; born < kMost; ++born) {
    error = ::pthread_create(&thread, nullptr, [](void*) -> void* { return ::pause(), nullptr; }, nullptr);
    if (error != 0) break;
  }
  std::printf("%d %s\n", born, born < kMost ? errno_name(error).c_str() : "unlimited");
  std::fflush(stdout);
  return 7;
}

/// Of files, which are charged to the sandbox's memory: they have an end before that has.
int tmpfs_filler() {
  const int fd = ::open("/dev/shm/bomb", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static std::array<char, 1 << 20> block;
  long mebibytes = 0;
  while (mebibytes < 16384 && ::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size())) ++mebibytes;
  std::printf("%ld %s\n", mebibytes, mebibytes < 16384 ? errno_name(errno).c_str() : "unlimited");
  ::unlink("/dev/shm/bomb");
  return 7;
}

int memory_bomb() {
  constexpr std::size_t kStep = 16 << 20;
  for (std::size_t total = kStep;; total += kStep) {
    void* memory = ::mmap(nullptr, kStep, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 7;
    std::memset(memory, 1, kStep);
  }
}

/// To the end of the disk, or of 16 GiB.
int disk_filler() {
  const int fd = ::open("/fill", O_WRONLY | O_CREAT | O_TRUNC, 0600);
  static std::array<char, 1 << 20> block;
  block.fill('x');
  long mebibytes = 0;
  while (mebibytes < 16384 && ::write(fd, block.data(), block.size()) == static_cast<ssize_t>(block.size())) ++mebibytes;
  // To the last block of it.
  while (mebibytes < 16384 && ::write(fd, block.data(), 4096) > 0) {
  }
  std::printf("%ld %s\n", mebibytes, mebibytes < 16384 ? errno_name(errno).c_str() : "unlimited");
  return 7;
}

int inode_bomb() {
  ::mkdir("/inodes", 0700);
  int made = 0;
  for (; made < 200'000; ++made) {
    const int fd = ::open(("/inodes/" + std::to_string(made)).c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd < 0) break;
    ::close(fd);
  }
  std::printf("%d %s\n", made, made < 200'000 ? errno_name(errno).c_str() : "unlimited");
  return 7;
}

int open_files() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  int opened = 0;
  while (opened < 100'000 && ::open("/", O_RDONLY | O_DIRECTORY) >= 0) ++opened;
  std::printf("%d %s\n", opened, opened < 100'000 ? errno_name(errno).c_str() : "all");
  return 7;
}

void odd_names(Report& report) {
  const std::string folder = "/tmp/odd";
  ::mkdir(folder.c_str(), 0700);
  for (const std::string name : {"\xff\xfe\x80", "new\nline", " ", "-rf", "\x1b[2J"}) {
    const int fd = ::open((folder + "/" + name).c_str(), O_WRONLY | O_CREAT, 0600);
    report.check("name", fd >= 0, fd >= 0 ? "a name that isn't text is a name" : errno_name(errno));
    ::close(fd);
  }
  report.refused("name_too_long", ::open((folder + "/" + std::string(256, 'n')).c_str(), O_WRONLY | O_CREAT, 0600), {ENAMETOOLONG});
  report.refused("path_too_long", ::open((folder + "/" + std::string(PATH_MAX, '/')).c_str(), O_RDONLY), {ENAMETOOLONG});
}

/// A tree deeper than any path; it stays, for the platform to remove. AppArmor decides by whole paths, and refuses those longer than its
/// buffer (parameter path_max, 8,192 bytes) with ENAMETOOLONG: an errno and nothing else, as for any other name that is too long.
void deep_tree(Report& report) {
  const std::string name = "deep-folder";
  int depth = 0, error = ::chdir("/tmp") == 0 ? 0 : errno;
  while (error == 0 && depth < 3000) {
    if (::mkdir(name.c_str(), 0700) == 0 && ::chdir(name.c_str()) == 0) {
      ++depth;
    } else {
      error = errno;
    }
  }
  const bool too_long = error == ENAMETOOLONG && depth * (name.size() + 1) + sizeof "/tmp" > PATH_MAX;
  report.check("deep_tree", error == 0 || too_long, std::to_string(depth) + " folders deep" + (error == 0 ? "" : ", then " + errno_name(error)));
  (void)!::chdir("/");
}

void sparse_file(Report& report) {
  const int fd = ::open("/tmp/sparse", O_WRONLY | O_CREAT, 0600);
  constexpr off_t kTebibyte = off_t{1} << 40;
  const int answer = ::ftruncate(fd, kTebibyte);
  struct stat info{};
  ::fstat(fd, &info);
  ::close(fd);
  report.check("sparse_file", answer != 0 || info.st_blocks < 1024, answer != 0 ? errno_name(errno) : "1 TiB of name, nothing of disk");
}

}  // namespace

void row_14(Report& report) {
  odd_names(report);
  deep_tree(report);
  sparse_file(report);
}

int clean_up(const std::vector<std::string>&) {
  (void)::unlink("/fill");
  for (const auto& name : names_in("/inodes")) (void)::unlink(("/inodes/" + name).c_str());
  (void)::rmdir("/inodes");
  return 0;
}

int bomb(const std::vector<std::string>& arguments) {
  static const std::map<std::string, int (*)()> kBombs = {
      {"fork", fork_bomb}, {"memory", memory_bomb}, {"disk", disk_filler}, {"inodes", inode_bomb}, {"files", open_files},
      {"threads", thread_bomb}, {"tmpfs", tmpfs_filler}};
  auto found = arguments.empty() ? kBombs.end() : kBombs.find(arguments[0]);
  return found == kBombs.end() ? 2 : found->second();
}

int flood(const std::vector<std::string>& arguments) {
  static std::array<char, 1 << 16> block;
  for (std::size_t i = 0; i < block.size(); ++i) block[i] = i % 2 == 0 ? 'y' : '\n';
  long left = arguments.empty() ? 0 : std::atol(arguments[0].c_str());
  for (; left > 0; left -= static_cast<long>(block.size())) {
    for (int stream : {1, 2}) {
      if (::write(stream, block.data(), block.size()) < 0) return 1;
    }
  }
  return 0;
}

}  // namespace harena::incidents
