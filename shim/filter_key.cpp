#include "shim/filter_key.hpp"

#include <linux/seccomp.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>

#include "shim/raw_call.hpp"

namespace harena::shim {
namespace {

/// The third and fourth argument: clone3 and setns have two.
constexpr std::size_t kFirstKeyArgument = 2;

/// Both architectures that we know are little-endian: the low half comes first.
constexpr std::uint32_t half_offset(std::size_t half) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + kFirstKeyArgument * sizeof(std::uint64_t) + half * sizeof(std::uint32_t));
}

constexpr sock_filter load(std::uint32_t offset) { return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset); }
constexpr sock_filter unless_equal(std::uint32_t value, std::size_t skip) {
  return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, static_cast<unsigned char>(skip));
}

}  // namespace

Result<FilterKey> FilterKey::make() {
  FilterKey key;
  for (auto* word : {&key.first_, &key.second_}) {
    if (::getrandom(word, sizeof *word, 0) != static_cast<ssize_t>(sizeof *word)) return errno_error(errno, "getrandom");
  }
  return key;
}

// Raw: the libraries' wrappers have no place for what the kernel doesn't read.
long FilterKey::clone3(void* arguments, std::size_t size) const { return ::syscall(SYS_clone3, arguments, size, first_, second_); }
long FilterKey::setns(int fd, int kinds) const { return ::syscall(SYS_setns, fd, kinds, first_, second_); }
long FilterKey::clone3_beside(const void* arguments, std::size_t size, void (*body)(void*), void* data) const {
  return raw_clone3(arguments, size, first_, second_, body, data);
}
long FilterKey::raw_setns(int fd, int kinds) const { return raw_call(SYS_setns, fd, kinds, first_, second_); }

std::vector<sock_filter> FilterKey::open_door_in(const std::vector<sock_filter>& program) const {
  const std::array<std::uint32_t, 4> halves = {static_cast<std::uint32_t>(first_), static_cast<std::uint32_t>(first_ >> 32),
                                               static_cast<std::uint32_t>(second_), static_cast<std::uint32_t>(second_ >> 32)};
  std::vector<sock_filter> all = {load(offsetof(seccomp_data, nr)), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
                                  unless_equal(SYS_setns, kDoorInstructions - 3)};
  for (std::size_t i = 0; i < halves.size(); ++i) {
    all.push_back(load(half_offset(i)));
    all.push_back(unless_equal(halves[i], kDoorInstructions - all.size() - 1));
  }
  all.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  all.insert(all.end(), program.begin(), program.end());
  return all;
}

}  // namespace harena::shim
