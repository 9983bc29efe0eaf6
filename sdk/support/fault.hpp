#pragma once
// Points where a test lets a process die, to see what recovery makes of the rest.
//
//   fault_point("builder.overlay");
//
// HARENA_FAULT=builder.overlay ends every process that comes to the point, by SIGKILL as the kernel would. HARENA_FAULT=@FILE does
// so once: where FILE holds the point's name, it is removed and the process dies. Only in builds with tests (HARENA_FAULTS);
// elsewhere a point is nothing at all, and the variable means nothing.

#ifdef HARENA_FAULTS

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <string_view>

namespace harena {

/// "HARENA_FAULT=..." for a process that gets no other environment; empty when there is none.
inline std::string fault_variable() {
  const char* value = std::getenv("HARENA_FAULT");
  return value == nullptr ? std::string() : std::string("HARENA_FAULT=") + value;
}

/// The first process of a pid namespace can't send itself SIGKILL: it leaves without a word otherwise.
[[noreturn]] inline void die_of_fault() {
  ::kill(::getpid(), SIGKILL);
  ::_exit(128 + SIGKILL);
}

inline void fault_point(std::string_view name) {
  const char* wanted = std::getenv("HARENA_FAULT");
  if (wanted == nullptr) return;
  if (wanted[0] != '@') {
    if (name == wanted) die_of_fault();
    return;
  }
  const int file = ::open(wanted + 1, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  char text[64];
  const ssize_t got = ::read(file, text, sizeof text);
  ::close(file);
  if (got < 0 || name != std::string_view(text, static_cast<std::size_t>(got))) return;
  if (::unlink(wanted + 1) == 0) die_of_fault();
}

}  // namespace harena

#else

#include <string>
#include <string_view>

namespace harena {
inline std::string fault_variable() { return {}; }
inline void fault_point(std::string_view) {}
}  // namespace harena

#endif
