#include "core/edge/state_findings.hpp"

#include <gtest/gtest.h>
#include <sys/statvfs.h>

namespace harena {
namespace {

StateDisk good() { return {0xEF53, 0, 1'000'000, 900'000}; }

void expect(const StateDisk& disk, const std::string& id, const std::string& level, const std::string& fix) {
  const auto found = state_findings(disk, "/var/lib/x");
  ASSERT_EQ(found.size(), 1u) << found;
  EXPECT_EQ(found[0]["id"], id);
  EXPECT_EQ(found[0]["level"], level);
  EXPECT_NE(found[0]["fix"].get<std::string>().find(fix), std::string::npos) << found;
  EXPECT_EQ(level == "ok", found[0]["why"].get<std::string>().empty());
}

TEST(StateFindings, LocalDisksAreFine) {
  for (std::uint64_t type : {0xEF53u, 0x58465342u, 0x9123683Eu, 0x12345678u}) {
    auto disk = good();
    disk.type = type;
    expect(disk, "state", "ok", "");
  }
  auto uncounted = good();
  uncounted.inodes = uncounted.inodes_available = 0;  // Btrfs
  expect(uncounted, "state", "ok", "");
}

TEST(StateFindings, FileSystemsThatCantHoldUppers) {
  for (std::uint64_t type : {0x794C7630u, 0x6969u, 0x65735546u, 0xFF534D42u}) {
    auto disk = good();
    disk.type = type;
    expect(disk, "state.type", "error", "state_dir");
  }
  auto memory = good();
  memory.type = 0x01021994;
  expect(memory, "state.type", "warning", "state_dir");
}

TEST(StateFindings, MountOptionsAndInodes) {
  auto disk = good();
  disk.flags = ST_NOEXEC;
  expect(disk, "state.noexec", "error", "remount,exec");
  disk.flags = ST_NOSUID;
  expect(disk, "state.nosuid", "warning", "remount,suid");
  disk.flags = ST_RDONLY;
  expect(disk, "state.read_only", "error", "remount,rw");
  disk = good();
  disk.inodes_available = 100;
  expect(disk, "state.inodes", "warning", "images rm");
}

TEST(StateFindings, ThisMachine) {
  const auto disk = read_state_disk("/");
  EXPECT_NE(disk.type, 0u);
  EXPECT_EQ(read_state_disk("/nowhere/at/all").type, 0u);
}

}  // namespace
}  // namespace harena
