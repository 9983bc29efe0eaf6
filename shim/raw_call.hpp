#pragma once
// System calls without the C library: for a process that shares its maker's memory (light_child.hpp), where
// errno is the maker's.

#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace harena::shim {

/// An argument of a call as its register has it.
template <class T>
long as_register(T value) {
  if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<long>(value);
  } else {
    return static_cast<long>(value);
  }
}

/// What the kernel returns: at least 0, or an errno with a minus.
inline long raw_call_6(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#else
#error "raw_call.hpp: this architecture's system calls aren't known"
#endif
}

template <class A = long, class B = long, class C = long, class D = long, class E = long, class F = long>
long raw_call(long number, A a = {}, B b = {}, C c = {}, D d = {}, E e = {}, F f = {}) {
  return raw_call_6(number, as_register(a), as_register(b), as_register(c), as_register(d), as_register(e), as_register(f));
}

/// clone3(2) for a child on a stack of its own: `arguments` (struct clone_args of `size` bytes) has that
/// stack. The child calls `body` with `data`, which mustn't return. `key_first`, `key_second`: see
/// filter_key.hpp.
inline long raw_clone3(const void* arguments, std::size_t size, std::uint64_t key_first, std::uint64_t key_second,
                       void (*body)(void*), void* data) {
#if defined(__x86_64__)
  register std::uint64_t r10 asm("r10") = key_second;
  register void (*r12)(void*) asm("r12") = body;
  register void* r13 asm("r13") = data;
  long result;
  // The child's frame pointer ends the chain of frames.
  asm volatile(
      "syscall\n\t"
      "testq %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xorl %%ebp, %%ebp\n\t"
      "movq %%r13, %%rdi\n\t"
      "callq *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(arguments), "S"(size), "d"(key_first), "r"(r10), "r"(r12), "r"(r13)
      : "rcx", "r11", "memory", "cc");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = SYS_clone3;
  register const void* x0 asm("x0") = arguments;
  register std::size_t x1 asm("x1") = size;
  register std::uint64_t x2 asm("x2") = key_first;
  register std::uint64_t x3 asm("x3") = key_second;
  register void (*x19)(void*) asm("x19") = body;
  register void* x20 asm("x20") = data;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, #0\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "brk #0\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x19), "r"(x20)
      : "memory", "cc", "x30");
  return reinterpret_cast<long>(x0);
#endif
}

}  // namespace harena::shim
