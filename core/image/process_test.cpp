#include "core/image/process.hpp"

#include <gmock/gmock.h>

#include <chrono>

#include "core/image/test_tar.hpp"
#include "core/image/work_folder.hpp"

namespace harena::image {
namespace {

using ::testing::HasSubstr;

Status go_on() { return ok_status(); }

TEST(PosixSpawner, GivesStatusAndOutput) {
  PosixSpawner spawner;
  const auto outcome = spawner.run({"sh", "-c", "echo out; echo err >&2; exit 7"}, {}, go_on);
  EXPECT_EQ(outcome->exit_code, 7);
  EXPECT_EQ(outcome->output, "out\nerr\n");
  EXPECT_EQ(spawner.run({"sh", "-c", "kill -9 $$"}, {}, go_on)->exit_code, 128 + 9);
  EXPECT_EQ(spawner.run({"sh", "-c", "echo $MORE"}, {"MORE=a b"}, go_on)->output, "a b\n");
  EXPECT_EQ(spawner.run({"printf", "%s|", "a b", "$HOME", "'"}, {}, go_on)->output, "a b|$HOME|'|");
}

TEST(PosixSpawner, KeepsTheTailOfMuchOutput) {
  PosixSpawner spawner;
  const auto outcome = spawner.run({"sh", "-c", "seq 1 200000; echo last"}, {}, go_on);
  EXPECT_LE(outcome->output.size(), 16u << 10);
  EXPECT_TRUE(outcome->output.ends_with("last\n"));
}

TEST(PosixSpawner, NamesAProgramThatIsNotThere) {
  PosixSpawner spawner;
  const auto outcome = spawner.run({"harena-no-such-tool"}, {}, go_on);
  EXPECT_EQ(outcome.error().code, ErrorCode::failed_precondition);
  EXPECT_THAT(outcome.error().message, HasSubstr("harena-no-such-tool isn't installed"));
}

TEST(PosixSpawner, ACheckpointEndsTheWholeGroup) {
  PosixSpawner spawner;
  int asked = 0;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = spawner.run({"sh", "-c", "sleep 100 & sleep 100"}, {}, [&]() -> Status {
    if (++asked > 2) return make_error(ErrorCode::cancelled, "enough");
    return ok_status();
  });
  EXPECT_EQ(outcome.error().code, ErrorCode::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(PosixSpawner, DoesNotWaitForWhatHoldsTheOutputOpen) {
  PosixSpawner spawner;
  const auto start = std::chrono::steady_clock::now();
  const auto outcome = spawner.run({"sh", "-c", "echo done; (trap '' HUP; exec sleep 5) &"}, {}, go_on);
  EXPECT_EQ(outcome->output, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(4));
}

TEST(WorkFolder, RemovesWhatAnEarlierLifeLeft) {
  TestFolder folder;
  SystemRandom random;
  write_file(folder.path("w/import.dead/root/file"), "x");
  write_file(folder.path("w/other/file"), "x");
  const auto work = WorkFolder::open(folder.path("w"), random);
  ASSERT_TRUE(work.ok()) << work.error().message;
  EXPECT_FALSE(std::filesystem::exists(folder.path("w/import.dead")));
  EXPECT_TRUE(std::filesystem::exists(folder.path("w/other/file")));
  EXPECT_THAT(WorkFolder::open(folder.path("w"), random).error().message, HasSubstr("used by another process"));
  std::filesystem::path made;
  {
    const auto piece = (*work)->make();
    made = piece->path();
    write_file(made / "a/b", "x");
  }
  EXPECT_FALSE(std::filesystem::exists(made));
  EXPECT_EQ(WorkFolder::open("relative", random).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace harena::image
