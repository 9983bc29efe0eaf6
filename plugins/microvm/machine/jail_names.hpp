#pragma once
// What a VMM's files are called inside its jail (qemu_jail.hpp). On its own for ram_guard.cpp, which is loaded into QEMU and has no other
// header of ours.

namespace harena::microvm {

inline constexpr const char* kJailRam = "/ram";
inline constexpr const char* kJailKernel = "/kernel";
inline constexpr const char* kJailInitramfs = "/initramfs";
/// ram_guard.cpp, where RAM is a frozen file.
inline constexpr const char* kJailGuard = "/libharena-ram-guard.so";

}  // namespace harena::microvm
