#include "plugins/microvm/machine/qemu_arguments.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace harena::microvm {
namespace {

VmmSpec a_spec() {
  VmmSpec spec;
  spec.program = "/usr/bin/qemu-system-x86_64";
  spec.command_line = "console=ttyS0";
  spec.ram_bytes = 256 << 20;
  spec.disks = {{"l0", {{"/layers/a", false}}, false}, {"disk", {{"/vm/disk.1", false}, {"/vm/disk.2", true}}, true}};
  return spec;
}

const QemuDescriptors kDescriptors{3, 4, 5, {{6}, {7, 8}}};

bool has_pair(const std::vector<std::string>& arguments, const std::string& option, const std::string& part) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] == option && arguments[i + 1].find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(QemuArguments, OnlyTheTopOfAWritableDiskIsWritten) {
  const auto arguments = qemu_arguments(a_spec(), kDescriptors);
  for (const auto& argument : arguments) {
    if (argument.find("\"node-name\"") == std::string::npos) continue;
    const bool top = argument.find("\"d1f1\"") != std::string::npos || argument.find("\"d1f1-file\"") != std::string::npos;
    const bool is_backing = argument.find("\"backing\"") != std::string::npos;
    EXPECT_EQ(argument.find("\"read-only\":false") != std::string::npos, top) << argument;
    EXPECT_EQ(is_backing, argument.find("\"d1f1\"") != std::string::npos) << argument;
  }
  EXPECT_TRUE(has_pair(arguments, "-device", "drive=d1f1,serial=disk"));
  EXPECT_TRUE(has_pair(arguments, "-device", "drive=d0f0,serial=l0"));
  EXPECT_TRUE(has_pair(arguments, "-device", "free-page-reporting=on"));
}

TEST(QemuArguments, NoPathOfTheHostIsNamed) {
  for (const auto& argument : qemu_arguments(a_spec(), kDescriptors)) {
    EXPECT_EQ(argument.find("/vm/"), std::string::npos) << argument;
    EXPECT_EQ(argument.find("/layers/"), std::string::npos) << argument;
  }
}

TEST(QemuArguments, WhatGoesOnFromAStateBootsNoKernel) {
  auto spec = a_spec();
  spec.incoming = true;
  spec.ram = RamMapping::own_copy;
  const auto arguments = qemu_arguments(spec, kDescriptors);
  EXPECT_TRUE(has_pair(arguments, "-incoming", "defer"));
  EXPECT_TRUE(has_pair(arguments, "-object", "share=off"));
  EXPECT_EQ(std::count(arguments.begin(), arguments.end(), "-kernel"), 0);
  EXPECT_TRUE(has_pair(arguments, "-global", "migration.send-configuration=off"));
}

TEST(QemuArguments, TheSystemCallFilterIsAlwaysThere) {
  for (auto accelerator : {Accelerator::kvm, Accelerator::tcg}) {
    auto spec = a_spec();
    spec.accelerator = accelerator;
    EXPECT_TRUE(has_pair(qemu_arguments(spec, kDescriptors), "-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny"));
  }
}

}  // namespace
}  // namespace harena::microvm
