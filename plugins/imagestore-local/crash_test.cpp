// kill -9 in the middle of puts, and a disk that is full: what was promised is there, nothing else is.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <fstream>

#include "plugins/imagestore-local/test_support.hpp"

namespace harena::imagestore {
namespace {

constexpr std::size_t kDigestLine = 72;  // "sha256:" + 64 + newline

/// Puts one blob after another and writes each digest to `report` once its put has returned.
[[noreturn]] void put_for_ever(const std::string& root, int report) {
  const auto store = open_store(root);
  for (int i = 0; store; ++i) {
    const auto line = put_text(*store, std::string(200'000, 'x') + std::to_string(i)) + "\n";
    (void)store->tag("root/n" + std::to_string(i) + ":v1", line.substr(0, kDigestLine - 1));
    (void)write_all(report, line, "report");
  }
  ::_exit(1);
}

std::vector<std::string> read_digests(int fd, std::size_t count) {
  std::vector<std::string> digests;
  std::string line(kDigestLine, '\0');
  while (digests.size() < count) {
    std::size_t have = 0;
    while (have < kDigestLine) {
      const auto got = ::read(fd, line.data() + have, kDigestLine - have);
      if (got <= 0) return digests;
      have += static_cast<std::size_t>(got);
    }
    digests.push_back(line.substr(0, kDigestLine - 1));
  }
  return digests;
}

void expect_whole(const std::string& root, const std::vector<std::string>& promised) {
  const auto store = open_store(root);
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(count_in(root + "/tmp"), 0u);
  for (const auto& digest : promised) EXPECT_TRUE(store->stat(digest).ok()) << digest;
  const auto blobs = store->list_blobs("", 10'000);
  for (const auto& blob : *blobs) EXPECT_TRUE(*store->check(blob.digest, go_on)) << blob.digest;
  for (const auto& tag : store->list("", "", 10'000)) EXPECT_TRUE(store->stat(tag.digest).ok()) << tag.reference;
  EXPECT_TRUE(store->damaged_tags().empty());
}

TEST(Crash, KilledBetweenAnyTwoSteps) {
  TestFolder folder;
  std::vector<std::string> promised;
  for (std::size_t round = 0; round < 12; ++round) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);
    const pid_t child = ::fork();
    if (child == 0) put_for_ever(folder.path("s"), writer.get());
    writer.reset();
    const auto digests = read_digests(reader.get(), 1 + round);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(digests.size(), 1 + round);
    promised.insert(promised.end(), digests.begin(), digests.end());
    expect_whole(folder.path("s"), promised);
  }
}

TEST(Crash, KilledWithHalfABlobWritten) {
  TestFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    writer.reset();
    const auto store = open_store(folder.path("s"));
    (void)store->put("", reader.get(), go_on);
    ::_exit(0);
  }
  // More than the pipe holds: when this returns, the child has read and begun to write.
  ASSERT_TRUE(write_all(writer.get(), std::string(4 << 20, 'h'), "pipe").ok());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(count_in(folder.path("s/tmp")), 1u);
  expect_whole(folder.path("s"), {});
  EXPECT_EQ(count_in(folder.path("s/blobs/sha256")), 0u);
}

/// In a child with a mount namespace of its own, so that the small disk goes with the child.
int on_a_small_disk(const std::string& at) {
  if (::unshare(CLONE_NEWNS) != 0) return 77;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 77;
  if (::mount("tmpfs", at.c_str(), "tmpfs", 0, "size=2m") != 0) return 77;
  const auto store = open_store(at + "/s");
  if (!store) return 1;
  const auto kept = put_text(*store, "kept");
  if (!store->tag("root/kept:v1", kept).ok()) return 2;
  const auto big = memory_file(std::string(8 << 20, 'b'));
  const auto full = store->put("", big.get(), go_on);
  if (full.ok() || full.error().code != ErrorCode::resource_exhausted) return 3;
  if (full.error().message.find("free space") == std::string::npos) return 4;
  if (count_in(at + "/s/tmp") != 0 || store->list_blobs("", 10)->size() != 1) return 5;
  if (!*store->check(kept, go_on) || *store->resolve("root/kept:v1") != kept) return 6;
  return put_text(*store, "small again").starts_with("sha256:") ? 0 : 7;
}

TEST(Crash, AFullDiskIsAnErrorAndLosesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "mounting a small tmpfs needs root";
  TestFolder folder;
  const pid_t child = ::fork();
  if (child == 0) ::_exit(on_a_small_disk(folder.path()));
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "this host doesn't allow mounts in a private namespace";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace harena::imagestore
