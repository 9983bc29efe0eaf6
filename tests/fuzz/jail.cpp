#include "tests/fuzz/jail.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.hpp"

namespace harena::fuzz {
namespace {

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::fprintf(stderr, "this target needs root: it resolves paths in a mount namespace and root of its own\n");
  std::exit(77);
}

void must(int result, const char* what) {
  if (result != 0) give_up(what);
}

/// Ways in, ways around, ways that would lead out.
void make_tree(const std::string& root) {
  for (const char* folder : {"/a", "/a/b", "/a/b/c", "/empty", "/work"}) must(::mkdir((root + folder).c_str(), 0755), folder);
  for (const char* file : {"/file", "/a/file", "/a/b/c/file"}) {
    must(::close(::open((root + file).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644)), file);
  }
  must(::mkfifo((root + "/fifo").c_str(), 0644), "mkfifo");
  const char* links[][2] = {{"/etc/passwd", "/out"},   {"../../../../../../etc/passwd", "/up"}, {"..", "/a/parent"}, {"/a/b", "/abs"},
                            {"b/c", "/a/rel"},         {"/loop2", "/loop1"},                    {"/loop1", "/loop2"}, {"missing", "/dangling"},
                            {"/proc/self/root", "/magic"}, {"/a/../../..", "/a/b/far"},         {"/", "/a/top"},     {"fifo", "/tofifo"}};
  for (const auto& link : links) must(::symlink(link[0], (root + link[1]).c_str()), link[1]);
}

}  // namespace

Jail enter_jail() {
  Jail jail{.proc = UniqueFd(::open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC))};
  must(::unshare(CLONE_NEWNS), "unshare");
  must(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "making mounts private");
  std::string root = "/tmp/harena-fuzz-XXXXXX";
  if (!::mkdtemp(root.data())) give_up("mkdtemp");
  must(::mount("tmpfs", root.c_str(), "tmpfs", 0, nullptr), "mounting a tmpfs");
  make_tree(root);
  const UniqueFd inside(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  must(::fstat(inside.get(), &info), "fstat");
  jail.device = info.st_dev;
  // The working folder stays outside, where libFuzzer writes what it found.
  must(::chroot(root.c_str()), "chroot");
  return jail;
}

}  // namespace harena::fuzz
