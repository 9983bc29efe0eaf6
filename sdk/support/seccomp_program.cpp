#include "sdk/support/seccomp_program.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace harena {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kNativeArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "no seccomp profile for this architecture"
#endif

/// Calls of the x32 ABI carry this bit; on other architectures no number is as large either.
constexpr std::uint32_t kX32Bit = 0x40000000;

constexpr std::uint32_t answer(int errno_value) {
  return errno_value == 0 ? SECCOMP_RET_ALLOW
                          : SECCOMP_RET_ERRNO | (static_cast<std::uint32_t>(errno_value) & SECCOMP_RET_DATA);
}

/// Both architectures that we know are little-endian: the low half comes first.
constexpr std::uint32_t low_half_offset(unsigned argument) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + argument * 8);
}

}  // namespace

/// Numbers are cut into runs that share one answer; the runs are the leaves of a binary search.
class SeccompCompiler {
 public:
  using Rule = SeccompProgram::Rule;
  using Check = SeccompProgram::Check;

  SeccompCompiler(const std::map<unsigned, Rule>& rules, int default_errno) : default_{default_errno, {}} {
    add_run(0, &default_);
    for (const auto& [number, rule] : rules) {
      add_run(number, &rule);
      if (rules.count(number + 1) == 0) add_run(number + 1, &default_);
    }
  }

  std::vector<sock_filter> run(int default_errno) {
    load(offsetof(seccomp_data, arch));
    jump(BPF_JEQ, kNativeArchitecture, 1, 0);
    ret(answer(default_errno));
    load(offsetof(seccomp_data, nr));
    jump(BPF_JGE, kX32Bit, 0, 1);
    ret(answer(default_errno));
    search(0, runs_.size());
    return std::move(code_);
  }

 private:
  struct Run {
    unsigned first;
    const Rule* rule;
  };

  void add_run(unsigned first, const Rule* rule) {
    if (!runs_.empty() && runs_.back().first == first) runs_.pop_back();
    if (!runs_.empty() && same(*runs_.back().rule, *rule)) return;
    runs_.push_back({first, rule});
  }
  static bool same(const Rule& a, const Rule& b) {
    return a.checks.empty() && b.checks.empty() && a.errno_value == b.errno_value;
  }

  void load(std::size_t offset) { code_.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset))); }
  void ret(std::uint32_t value) { code_.push_back(BPF_STMT(BPF_RET | BPF_K, value)); }
  void jump(int operation, std::uint32_t value, unsigned char if_true, unsigned char if_false) {
    code_.push_back(BPF_JUMP(static_cast<unsigned short>(BPF_JMP | operation | BPF_K), value, if_true, if_false));
  }

  void search(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return leaf(*runs_[begin].rule);
    const std::size_t middle = begin + (end - begin) / 2;
    // Conditional jumps reach 255 instructions, the unconditional one any distance.
    jump(BPF_JGE, runs_[middle].first, 0, 1);
    const std::size_t far_jump = code_.size();
    code_.push_back(BPF_STMT(BPF_JMP | BPF_JA, 0));
    search(begin, middle);
    code_[far_jump].k = static_cast<std::uint32_t>(code_.size() - far_jump - 1);
    search(middle, end);
  }

  void leaf(const Rule& rule) {
    for (const Check& check : rule.checks) {
      load(low_half_offset(check.argument));
      if (check.any_bit) {
        jump(BPF_JSET, check.value, 0, 1);
      } else {
        code_.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, check.mask));
        jump(BPF_JEQ, check.value, 0, 1);
      }
      ret(answer(check.errno_value));
    }
    ret(answer(rule.errno_value));
  }

  const Rule default_;
  std::vector<Run> runs_;
  std::vector<sock_filter> code_;
};

void SeccompProgram::allow_unless(unsigned number, std::span<const ArgumentRefusal> refusals) {
  for (const auto& r : refusals) {
    rules_[number].checks.push_back({r.argument, r.mask, r.value & r.mask, false, r.errno_value});
  }
}

void SeccompProgram::allow_unless(unsigned number, const BitsRefusal& r) {
  rules_[number].checks.push_back({r.argument, 0xFFFFFFFF, r.bits, true, r.errno_value});
}

void SeccompProgram::refuse(unsigned number, int errno_value) { rules_[number] = Rule{errno_value, {}}; }

Result<std::vector<sock_filter>> SeccompProgram::compile(int default_errno) const {
  SeccompCompiler compiler(rules_, default_errno);
  auto code = compiler.run(default_errno);
  if (code.size() > BPF_MAXINSNS) {
    return make_error(ErrorCode::out_of_range, "a seccomp program of " + std::to_string(code.size()) +
                                                   " instructions; the most is " + std::to_string(BPF_MAXINSNS));
  }
  return code;
}

Result<UniqueFd> seccomp_memfd(std::span<const sock_filter> program) {
  UniqueFd fd(::memfd_create("seccomp", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return errno_error(errno, "memfd_create");
  if (::write(fd.get(), program.data(), program.size_bytes()) != static_cast<ssize_t>(program.size_bytes())) {
    return errno_error(errno, "write a memory file");
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return errno_error(errno, "seal a memory file");
  }
  return fd;
}

Result<std::vector<sock_filter>> read_seccomp_memfd(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return errno_error(errno, "stat the seccomp program");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0 || size % sizeof(sock_filter) != 0 || size / sizeof(sock_filter) > BPF_MAXINSNS) {
    return make_error(ErrorCode::invalid_argument, "a seccomp program of " + std::to_string(size) + " bytes");
  }
  std::vector<sock_filter> program(size / sizeof(sock_filter));
  if (::pread(fd, program.data(), size, 0) != info.st_size) return errno_error(errno, "read the seccomp program");
  return program;
}

Status install_seccomp(std::span<const sock_filter> program) {
  sock_fprog description{static_cast<unsigned short>(program.size()), const_cast<sock_filter*>(program.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &description) != 0) return errno_error(errno, "seccomp");
  return {};
}

}  // namespace harena
