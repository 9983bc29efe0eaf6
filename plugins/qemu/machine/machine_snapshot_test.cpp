// What may go on from a snapshot, and what was kept by a release before.

#include "plugins/qemu/machine/machine_snapshot.hpp"

#include <gtest/gtest.h>

#include <filesystem>

namespace harena::qemu {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

/// Made with one CPU and 256 MiB, grown to 384; the record says 512 since a rollback.
MachineSnapshot grown() {
  MachineSnapshot snapshot{.tag = "t", .vmm = "7.2.22", .config = {}, .images = {}};
  snapshot.config.max_cpus = 2;
  snapshot.config.memory_bytes = 256 * kMiB;
  snapshot.config.max_memory_bytes = 1024 * kMiB;
  snapshot.config.plugged.push_back({"{}", "{}", 128 * kMiB});
  snapshot.config.asked_cpus = 2;
  snapshot.config.asked_memory_bytes = 512 * kMiB;
  return snapshot;
}

MachineConfig wanted(int cpus, std::int64_t mib) {
  MachineConfig config;
  config.cpus = cpus;
  config.max_cpus = 2;
  config.memory_bytes = mib * kMiB;
  config.max_memory_bytes = 1024 * kMiB;
  return config;
}

std::string said(const Status& status) { return status.ok() ? "" : status.error().message; }

TEST(MachineSnapshot, FitsTheSizeThatItHasAndTheOneOfItsRecord) {
  EXPECT_EQ(said(grown().check_fits(wanted(1, 384))), "");
  EXPECT_EQ(said(grown().check_fits(wanted(2, 512))), "");
  EXPECT_NE(said(grown().check_fits(wanted(1, 256))).find("'memory' is 268435456"), std::string::npos);
  EXPECT_NE(said(grown().check_fits(wanted(1, 640))).find("had then: 402653184"), std::string::npos);
  EXPECT_NE(said(grown().check_fits(wanted(3, 384))).find("'cpu' is 3"), std::string::npos);
}

TEST(MachineSnapshot, FewerCpusWithoutAMaximumFit) {
  auto snapshot = grown();
  snapshot.config.cpus = 2;
  auto less = wanted(1, 384);
  less.max_cpus = 1;  // as it is when no 'cpu_max' was said
  EXPECT_EQ(said(snapshot.check_fits(less)), "");
  less.max_cpus = 4;
  EXPECT_NE(said(snapshot.check_fits(less)).find("'cpu_max' is 4"), std::string::npos);
}

TEST(MachineSnapshot, ASeedIsntAddedOrShown) {
  auto with = wanted(1, 384);
  with.has_cloud_init = true;
  EXPECT_EQ(said(grown().check_fits(with)), "parameter 'cloud_init' is \"another\"; a machine that starts from a snapshot has what it had "
                                            "then: \"(not shown)\"");
}

TEST(MachineSnapshot, IsReadAsItWasWrittenAndFromAReleaseBefore) {
  char name[] = "/tmp/machine_snapshot_XXXXXX";
  const std::string folder = ::mkdtemp(name);
  ASSERT_EQ(said(grown().write(folder)), "");
  auto back = MachineSnapshot::read(folder);
  std::filesystem::remove_all(folder);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->config.to_json(), grown().config.to_json());
  json older = back->config.to_json();
  older.erase("asked_cpus");
  older.erase("asked_memory_bytes");
  const auto read = MachineConfig::parse(older.dump());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->asked_memory_bytes, 0);
  older.erase("cpus");
  EXPECT_EQ(MachineConfig::parse(older.dump()).error().code, ErrorCode::data_loss);
}

}  // namespace
}  // namespace harena::qemu
