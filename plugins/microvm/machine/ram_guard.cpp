// Preloaded into a QEMU that maps a frozen RAM file privately (qemu_jail.hpp). QEMU before 8.2 opens the file for reading and writing
// although a private mapping needs to read alone, and newer ones do where they aren't told otherwise. In the jail the file is on a
// read-only mount, so that no VMM, also one that its guest has taken over, can change the pages of others: what asks for more here gets
// a descriptor for reading.
//
// Memory that a guest has freed (balloon, free page reporting) QEMU gives back in two steps: a hole in the file, then MADV_DONTNEED. The
// first would take the page from all machines of the file, and fails here; QEMU would leave it at that. So holes in a file that is open for
// reading are passed over, and the second step drops what this machine has written over the page (docs/decisions/0014).

#include <linux/falloc.h>
#include <linux/fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdarg>
#include <cstring>

#include "plugins/microvm/machine/jail_names.hpp"

namespace {

int open_guarded(const char* path, int flags, unsigned mode) {
  if (std::strcmp(path, harena::microvm::kJailRam) == 0 && (flags & O_ACCMODE) == O_RDWR) flags = (flags & ~O_ACCMODE) | O_RDONLY;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

int punch_guarded(int fd, int mode, long offset, long bytes) {
  const bool hole = (mode & FALLOC_FL_PUNCH_HOLE) != 0;
  if (hole && (::syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) == O_RDONLY) return 0;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, bytes));
}

}  // namespace

#define HARENA_EXPORTED extern "C" __attribute__((visibility("default")))

// The names of glibc under which a program compiled with or without 64-bit offsets, with or without _FORTIFY_SOURCE, opens a file.
HARENA_EXPORTED int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const unsigned mode = makes ? va_arg(rest, unsigned) : 0;
  va_end(rest);
  return open_guarded(path, flags, mode);
}
HARENA_EXPORTED int open(const char* path, int flags, ...) __attribute__((alias("open64")));
HARENA_EXPORTED int __open_2(const char* path, int flags) { return open_guarded(path, flags, 0); }
HARENA_EXPORTED int __open64_2(const char* path, int flags) { return open_guarded(path, flags, 0); }
HARENA_EXPORTED int fallocate64(int fd, int mode, long offset, long bytes) { return punch_guarded(fd, mode, offset, bytes); }
HARENA_EXPORTED int fallocate(int fd, int mode, long offset, long bytes) { return punch_guarded(fd, mode, offset, bytes); }
