// PID 1 of the bench's bare machine: loads the same modules, opens the same port, says "R", and then serves one byte with one byte. 'e' is
// just returned; 'x' starts a program (this file, which ends at once) and is returned when it has ended.
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

void load_modules() {
  FILE* list = ::fopen("/modules.list", "r");
  char path[256];
  while (list != nullptr && ::fgets(path, sizeof path, list) != nullptr) {
    path[std::strcspn(path, "\n")] = 0;
    const int module = ::open(path, O_RDONLY | O_CLOEXEC);
    ::syscall(SYS_finit_module, module, "", 0);
    ::close(module);
  }
}

int open_port() {
  int port = -1;
  while ((port = ::open("/dev/vport0p1", O_RDWR | O_CLOEXEC)) < 0) ::usleep(200);
  return port;
}

void start_and_wait() {
  char program[] = "/init", word[] = "true";
  char* argv[] = {program, word, nullptr};
  char* none[] = {nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, program, nullptr, nullptr, argv, none) == 0) ::waitpid(child, nullptr, 0);
}

}  // namespace

int main(int argc, char**) {
  if (argc > 1) return 0;
  ::mount("devtmpfs", "/dev", "devtmpfs", 0, nullptr);
  load_modules();
  const int port = open_port();
  char byte = 'R';
  while (::write(port, &byte, 1) != 1) ::usleep(200);
  while (true) {
    if (::read(port, &byte, 1) != 1) {
      ::usleep(200);
      continue;
    }
    if (byte == 'x') start_and_wait();
    (void)!::write(port, &byte, 1);
  }
}
