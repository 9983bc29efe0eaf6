#pragma once
// Compiles an allowlist of system calls into a classic BPF program for seccomp(2).
//
// Why not libseccomp's generator: it can't express "this call, but not with these arguments" in an allowlist (an
// unconditional rule swallows the conditional ones), compares 64 bits where the kernel reads 32 (the hole of
// CVE-2019-10063), and would have to be linked into static programs. What is here is a binary search over call numbers and
// masked comparisons of the low 32 bits of arguments; a call costs about 12 instructions.

#include <linux/filter.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// Refuses the call with `errno_value` if (low 32 bits of argument & mask) == value.
struct ArgumentRefusal {
  unsigned argument;  // 0..5
  std::uint32_t mask;
  std::uint32_t value;
  int errno_value;
};
/// Refuses the call if any bit of `bits` is set in the argument.
struct BitsRefusal {
  unsigned argument;
  std::uint32_t bits;
  int errno_value;
};

class SeccompProgram {
 public:
  void allow(unsigned number) { rules_[number]; }
  /// The call is allowed but for what these refuse. Adds to what was said of the number before.
  void allow_unless(unsigned number, std::span<const ArgumentRefusal> refusals);
  void allow_unless(unsigned number, const BitsRefusal& refusal);
  /// Refused by name: `errno_value` (EPERM) rather than the answer for numbers that nobody mentions.
  void refuse(unsigned number, int errno_value);
  /// Whether a rule of any kind exists for this number.
  bool mentions(unsigned number) const { return rules_.count(number) != 0; }

  /// What every number without a rule answers is `default_errno`; ENOSYS lets libraries fall back to older calls.
  /// Calls of another architecture or ABI (i386, x32) answer ENOSYS too. out_of_range when it is over BPF_MAXINSNS.
  Result<std::vector<sock_filter>> compile(int default_errno) const;

 private:
  struct Check {
    unsigned argument;
    std::uint32_t mask;
    std::uint32_t value;
    bool any_bit;
    int errno_value;
  };
  struct Rule {
    int errno_value = 0;  // 0: allowed
    std::vector<Check> checks;
  };
  friend class SeccompCompiler;
  std::map<unsigned, Rule> rules_;
};

/// The program as an array of sock_filter in a sealed memory file, to be handed to other processes.
Result<UniqueFd> seccomp_memfd(std::span<const sock_filter> program);
/// Reads such a file back. invalid_argument when its size isn't that of a program.
Result<std::vector<sock_filter>> read_seccomp_memfd(int fd);
/// Installs it for this thread; no_new_privs must be set.
Status install_seccomp(std::span<const sock_filter> program);

}  // namespace harena
