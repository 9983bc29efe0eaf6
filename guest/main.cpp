// harena-guest: PID 1 of the initramfs of a microVM, then the agent that its host talks to (guest/README.md).

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "guest/entry.hpp"
#include "guest/power.hpp"

namespace {

/// To the kernel's log, which is on the console that the VMM keeps.
void tell(const std::string& text) {
  const int log = ::open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
  const std::string line = "harena-guest: " + text + "\n";
  (void)!::write(log >= 0 ? log : 2, line.data(), line.size());
}

void show_arguments(char* first, std::string_view text) {
  const auto room = std::strlen(first);
  std::memset(first, 0, room);
  std::memcpy(first, text.data(), std::min(room, text.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--version") == 0) return std::puts("harena-guest " HARENA_VERSION), 0;
  // What the sandbox's init shows as its arguments, which it has from here.
  if (::getpid() == 1) show_arguments(argv[0], "init");
  if (::getpid() != 1) return std::fputs("harena-guest is PID 1 of a virtual machine; there is nothing to do for it here\n", stderr), 2;
  const auto status = harena::guest::run_guest();
  if (!status.ok()) tell(harena::Status(status).error().describe());
  harena::guest::power_off();
}
