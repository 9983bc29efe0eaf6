// The compiler is tested by running its programs: on a table of calls through an interpreter, and one in the kernel.
#include "sdk/support/seccomp_program.hpp"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace harena {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

/// The instructions that our compiler emits.
std::uint32_t interpret(const std::vector<sock_filter>& program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& i = program[at];
    switch (i.code) {
      case BPF_LD | BPF_W | BPF_ABS: std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + i.k, 4); break;
      case BPF_ALU | BPF_AND | BPF_K: accumulator &= i.k; break;
      case BPF_JMP | BPF_JA: at += i.k; break;
      case BPF_JMP | BPF_JEQ | BPF_K: at += accumulator == i.k ? i.jt : i.jf; break;
      case BPF_JMP | BPF_JGE | BPF_K: at += accumulator >= i.k ? i.jt : i.jf; break;
      case BPF_JMP | BPF_JSET | BPF_K: at += (accumulator & i.k) != 0 ? i.jt : i.jf; break;
      case BPF_RET | BPF_K: return i.k;
      default: ADD_FAILURE() << "unknown instruction " << i.code; return 0;
    }
  }
  ADD_FAILURE() << "ran off the end";
  return 0;
}

std::uint32_t errno_answer(int value) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(value); }

struct Program {
  std::vector<sock_filter> code;
  std::uint32_t ask(unsigned number, std::initializer_list<std::uint64_t> arguments = {}, std::uint32_t architecture = kArchitecture) const {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = architecture;
    std::size_t i = 0;
    for (std::uint64_t argument : arguments) data.args[i++] = argument;
    return interpret(code, data);
  }
};

TEST(SeccompProgram, EveryNumberGetsItsAnswer) {
  SeccompProgram program;
  for (unsigned n = 0; n < 600; ++n) {
    if (n % 3 == 0) program.allow(n);
    if (n % 7 == 1 && n % 3 != 0) program.refuse(n, EPERM);
  }
  Program compiled{program.compile(ENOSYS).value()};
  for (unsigned n = 0; n < 1000; ++n) {
    const std::uint32_t expected = n >= 600 ? errno_answer(ENOSYS) : n % 3 == 0 ? SECCOMP_RET_ALLOW : n % 7 == 1 ? errno_answer(EPERM) : errno_answer(ENOSYS);
    EXPECT_EQ(compiled.ask(n), expected) << n;
  }
}

TEST(SeccompProgram, OtherArchitecturesDontExist) {
  SeccompProgram program;
  program.allow(20);
  Program compiled{program.compile(ENOSYS).value()};
  EXPECT_EQ(compiled.ask(20), SECCOMP_RET_ALLOW);
  EXPECT_EQ(compiled.ask(20, {}, AUDIT_ARCH_I386), errno_answer(ENOSYS));
  EXPECT_EQ(compiled.ask(0x40000000 | 20), errno_answer(ENOSYS));
}

TEST(SeccompProgram, ArgumentsAreComparedInTheBitsThatTheKernelReads) {
  SeccompProgram program;
  const ArgumentRefusal refusals[] = {{1, 0xFFFFFFFF, 0x5412, EPERM}, {1, 0xFFFF, 0x586d, EACCES}};
  program.allow_unless(16, refusals);
  program.allow_unless(56, BitsRefusal{0, 0x10000000, EPERM});
  Program compiled{program.compile(ENOSYS).value()};
  EXPECT_EQ(compiled.ask(16, {0, 0x5413}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(compiled.ask(16, {0, 0x5412}), errno_answer(EPERM));
  EXPECT_EQ(compiled.ask(16, {0, 0xABCD00005412}), errno_answer(EPERM));
  EXPECT_EQ(compiled.ask(16, {0, 0xc0c0586d}), errno_answer(EACCES));
  EXPECT_EQ(compiled.ask(56, {0x11}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(compiled.ask(56, {0x10000011}), errno_answer(EPERM));
}

TEST(SeccompProgram, TheKernelTakesIt) {
  SeccompProgram program;
  for (unsigned n = 0; n < 450; ++n) program.allow(n);
  program.refuse(SYS_getppid, EDOM);
  auto code = program.compile(ENOSYS).value();
  auto file = seccomp_memfd(code);
  ASSERT_TRUE(file.ok());
  auto back = read_seccomp_memfd(file->get());
  ASSERT_TRUE(back.ok());
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!install_seccomp(*back).ok()) ::_exit(2);
    ::_exit(::syscall(SYS_getppid) < 0 && errno == EDOM ? 0 : 1);
  }
  int status = -1;
  ::waitpid(pid, &status, 0);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace harena
