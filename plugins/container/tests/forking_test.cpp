// fork, snapshot, restore, rollback on real sandboxes: what is kept, what is shared, what is left.

#include <fstream>

#include "plugins/container/tests/census.hpp"
#include "plugins/container/tests/container_case.hpp"

namespace harena::container::testing {
namespace {

namespace fs = std::filesystem;

class Forking : public ContainerCase {
 protected:
  std::string output(const std::string& id, const std::string& command) {
    const auto result = backend_->shell(id, command);
    EXPECT_EQ(result.exit, 0) << command << ": " << result.output;
    return result.output;
  }
  /// Children of a fork that must go well.
  std::vector<std::string> forked(const std::string& id, std::size_t count, const std::string& how, json params = json::object()) {
    std::vector<std::string> ids;
    for (std::size_t i = 0; i < count; ++i) ids.push_back(new_id());
    auto outcome = backend_->fork(id, ids, std::move(params));
    EXPECT_EQ(outcome.status, HARENA_OK) << outcome.message;
    for (const auto& child : outcome.result) {
      EXPECT_TRUE(child.contains("state")) << child.dump();
      EXPECT_EQ(child.value(json::json_pointer("/details/fork/how"), ""), how);
    }
    return ids;
  }
  std::size_t layer_count() const {
    std::size_t count = 0;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(backend_->layers(), none)) count += entry.path().filename().string()[0] == 'l';
    return count;
  }
};

TEST_F(Forking, ChildrenHaveWhatTheSourceHadAndGoTheirOwnWay) {
  const auto id = made();
  output(id, "echo one > /a; mkdir /d; echo two > /d/b; rm /etc/marker 2>/dev/null; chmod 700 /; echo x > /bin/new");
  const auto children = forked(id, 3, "frozen");
  for (const auto& child : children) EXPECT_EQ(output(child, "cat /a /d/b; stat -c %a:%u /"), "one\ntwo\n700:0\n");
  output(children[0], "echo mine > /a");
  output(id, "echo source > /a");
  EXPECT_EQ(output(children[0], "cat /a"), "mine\n");
  EXPECT_EQ(output(children[1], "cat /a"), "one\n");
  EXPECT_EQ(output(id, "cat /a"), "source\n");
  EXPECT_EQ(layer_count(), 1u);
}

TEST_F(Forking, SourceKeepsItsProcAndDevAndWhatIsInMemory) {
  const auto id = made({{"tmpfs", {{"/scratch", "1MiB"}}}});
  output(id, "echo kept > /scratch/f; echo kept > /dev/shm/g");
  forked(id, 1, "frozen", {{"tmpfs", {{"/scratch", "1MiB"}}}});
  EXPECT_EQ(output(id, "cat /scratch/f /dev/shm/g; test -e /proc/1/stat; test -c /dev/null; echo x > /dev/null; ls /dev/pts > /dev/null; mount | grep -c ' / '"),
            "kept\nkept\n1\n");
}

TEST_F(Forking, ChildOutlivesItsSourceAndLayersGoWithTheLastUser) {
  backend_->stop(made());  // what the plugin makes once
  const auto before = census(*backend_);
  const auto id = made();
  output(id, "echo one > /a");
  const auto children = forked(id, 2, "frozen");
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(output(children[1], "cat /a"), "one\n");
  EXPECT_EQ(backend_->stop(children[0]).status, HARENA_OK);
  EXPECT_EQ(layer_count(), 1u);
  const auto grandchild = forked(children[1], 1, "frozen");  // its own /etc/hostname, if nothing else
  backend_->stop(forked(children[1], 1, "shared")[0]);
  EXPECT_EQ(output(grandchild[0], "cat /a"), "one\n");
  for (const auto& one : {children[1], grandchild[0]}) EXPECT_EQ(backend_->stop(one).status, HARENA_OK);
  EXPECT_EQ(layer_count(), 0u);
  fs::remove_all(backend_->layers());
  EXPECT_EQ(left_over(*backend_, before), std::set<std::string>());
}

TEST_F(Forking, AnUnreadableRecordOfTheRootKeepsNothingBack) {
  const auto id = made();
  output(id, "echo one > /a");
  const auto child = forked(id, 1, "frozen")[0];
  std::ofstream(backend_->state_dir(child) / "root.json") << "not a record";
  EXPECT_EQ(backend_->stop(child).status, HARENA_OK);
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(backend_->stop(child).status, HARENA_OK) << "waits for what is removed behind the answer";
  EXPECT_EQ(backend_->stop(id).status, HARENA_OK);
  EXPECT_EQ(layer_count(), 0u);
}

TEST_F(Forking, DeletionsStayDeleted) {
  const auto id = made();
  output(id, "mkdir -p /d/e; echo 1 > /d/e/f; echo 2 > /g");
  const auto first = forked(id, 1, "frozen")[0];
  output(first, "rm -r /d; rm /g; mkdir /d; echo 3 > /d/h");
  const auto second = forked(first, 1, "frozen")[0];
  EXPECT_EQ(output(second, "cd /; ls d; test -e /g && echo there; true"), "h\n");
}

TEST_F(Forking, OwnersAndSetUidAreThoseOfTheChild) {
  const auto id = made();
  output(id, "echo a > /own; chown 1000:1001 /own; cp /bin/busybox /suid; chown 33 /suid; chmod 4755 /suid; ln /own /second; mkfifo /pipe; ln -s own /link");
  const auto child = forked(id, 1, "frozen")[0];
  EXPECT_EQ(output(child, "stat -c %u:%g:%h /own; stat -c %u:%a /suid; stat -c %F /pipe; cat /link; echo b >> /second; chown 5 /own; stat -c %u /own"),
            "1000:1001:2\n33:4755\nfifo\na\n5\n");
}

TEST_F(Forking, WhereCommandsRunTheUpperIsCopiedAndTheyGoOn) {
  const auto id = made();
  output(id, "echo one > /a; dd if=/dev/zero of=/sparse bs=1 count=1 seek=10M 2>/dev/null");
  const int running = backend_->start(id, {"sh", "-c", "while :; do echo tick >> /ticks; sleep 0.01; done"});
  output(id, "until test -s /ticks; do sleep 0.01; done");
  const auto child = forked(id, 1, "copied")[0];
  EXPECT_EQ(output(child, "cat /a; test -s /ticks; stat -c %s /sparse; test $(stat -c %b /sparse) -lt 100 && echo holes"), "one\n10485761\nholes\n");
  output(id, "n=$(wc -l < /ticks); until test $(wc -l < /ticks) -gt $n; do sleep 0.01; done");
  ::close(running);
}

TEST_F(Forking, PausedStaysPausedAndCanBeForked) {
  const auto id = made();
  const auto state = last_["state"].get<std::string>();
  output(id, "echo one > /a");
  ASSERT_EQ(backend_->pause(id).status, HARENA_OK);
  const auto child = forked(id, 1, "frozen")[0];
  EXPECT_EQ(output(child, "cat /a"), "one\n");
  EXPECT_EQ(backend_->recover(id, state).result["status"], "paused");
  ASSERT_EQ(backend_->resume(id).status, HARENA_OK);
  EXPECT_EQ(output(id, "cat /a"), "one\n");
}

TEST_F(Forking, OneBadChildIsOneError) {
  const auto id = made();
  const std::vector<std::string> ids = {new_id(), id, new_id()};
  const auto outcome = backend_->fork(id, ids);
  ASSERT_EQ(outcome.status, HARENA_OK) << outcome.message;
  EXPECT_TRUE(outcome.result[0].contains("state"));
  EXPECT_EQ(outcome.result[1]["error"]["code"], "already_exists");
  EXPECT_TRUE(outcome.result[2].contains("state"));
  EXPECT_EQ(backend_->fork(new_id(), {new_id()}).status, HARENA_NOT_FOUND);
}

TEST_F(Forking, SnapshotOutlivesItsSourceAndARestart) {
  const auto id = made();
  output(id, "echo one > /a");
  const auto taken = backend_->snapshot(id, "snap-1");
  ASSERT_EQ(taken.status, HARENA_OK) << taken.message;
  EXPECT_EQ(taken.result["kept"], "filesystem");
  EXPECT_EQ(taken.result["how"], "frozen");
  output(id, "echo two > /a");
  backend_->stop(id);
  backend_->restart();
  ASSERT_EQ(backend_->sweep({}).status, HARENA_OK);
  const auto copy = new_id();
  const auto restored = backend_->restore(copy, taken.result["state"]);
  ASSERT_EQ(restored.status, HARENA_OK) << restored.message;
  EXPECT_EQ(output(copy, "cat /a"), "one\n");
  EXPECT_EQ(backend_->drop_snapshot("snap-1").status, HARENA_OK);
  EXPECT_EQ(output(copy, "cat /a"), "one\n");
  EXPECT_EQ(backend_->restore(new_id(), taken.result["state"]).status, HARENA_OK);  // its layers live: the copy needs them
  EXPECT_EQ(layer_count(), 1u);
}

TEST_F(Forking, DeletedSnapshotFreesItsLayers) {
  const auto id = made();
  output(id, "echo one > /a");
  const auto taken = backend_->snapshot(id, "snap-1");
  backend_->stop(id);
  EXPECT_EQ(layer_count(), 1u);
  EXPECT_EQ(backend_->drop_snapshot("snap-1").status, HARENA_OK);
  EXPECT_EQ(layer_count(), 0u);
  const auto gone = backend_->restore(new_id(), taken.result["state"]);
  EXPECT_NE(gone.status, HARENA_OK);
  EXPECT_NE(gone.message.find("isn't there any more"), std::string::npos) << gone.message;
}

TEST_F(Forking, RollbackBringsTheFilesBackAndEndsWhatRuns) {
  const auto id = made();
  output(id, "echo one > /a; mkdir /d; echo 1 > /d/f");
  const auto taken = backend_->snapshot(id, "snap-1");
  output(id, "echo two > /a; rm -r /d; echo new > /new");
  const int running = backend_->start(id, {"sh", "-c", "echo > /started; exec sleep 1000"});
  output(id, "until test -e /started; do sleep 0.01; done");
  const auto rolled = backend_->rollback(id, taken.result["state"]);
  ASSERT_EQ(rolled.status, HARENA_OK) << rolled.message;
  EXPECT_EQ(output(id, "cat /a /d/f; ls /new /started 2>/dev/null; ps | grep -c '[s]leep 1000'; true"), "one\n1\n0\n");
  ASSERT_EQ(backend_->rollback(id, taken.result["state"]).status, HARENA_OK);
  EXPECT_EQ(output(id, "cat /a; echo x > /b; cat /b; ls /proc/1/stat"), "one\nx\n/proc/1/stat\n");
  EXPECT_EQ(backend_->rollback(id, "nonsense").status, HARENA_INVALID_ARGUMENT);
  ::close(running);
}

TEST_F(Forking, LimitsOfADiskHoldInSourceAndChild) {
  const json params = {{"disk", "32MiB"}};
  const auto id = made(params);
  output(id, "echo one > /a");
  const auto child = forked(id, 1, "copied", params)[0];
  EXPECT_EQ(output(child, "cat /a; dd if=/dev/zero of=/big bs=1M count=64 2>/dev/null || echo full"), "one\nfull\n");
  EXPECT_EQ(output(id, "dd if=/dev/zero of=/big bs=1M count=64 2>/dev/null || echo full; rm /big"), "full\n");
  const auto taken = backend_->snapshot(id, "snap-1");
  ASSERT_EQ(taken.status, HARENA_OK) << taken.message;
  output(id, "echo two > /a");
  const auto rolled = backend_->rollback(id, taken.result["state"]);
  ASSERT_EQ(rolled.status, HARENA_OK) << rolled.message;
  EXPECT_EQ(output(id, "cat /a; dd if=/dev/zero of=/big bs=1M count=64 2>/dev/null || echo full; rm /big"), "one\nfull\n");
  EXPECT_EQ(output(forked(id, 1, "copied", params)[0], "cat /a"), "one\n");
}

TEST_F(Forking, ChainOfSnapshotsIsBounded) {
  const auto id = made();
  std::string state;
  for (int i = 0; i < 40; ++i) {
    output(id, "echo " + std::to_string(i) + " > /f" + std::to_string(i) + "; rm -f /f" + std::to_string(i - 3) + "; echo x >> /log");
    const auto taken = backend_->snapshot(id, "snap");
    ASSERT_EQ(taken.status, HARENA_OK) << i << ": " << taken.message;
    state = taken.result["state"];
    ASSERT_LE(json::parse(state)["layers"].size(), 17u);
  }
  EXPECT_EQ(output(id, "cat /f37 /f38 /f39; ls /f* | wc -l; wc -l < /log"), "37\n38\n39\n3\n40\n");
}

TEST_F(Forking, ForksOfForks) {
  const char* wanted = std::getenv("HARENA_LONG_TESTS");
  const int depth = wanted != nullptr && wanted[0] == '1' ? 200 : 40;
  auto id = made();
  for (int i = 0; i < depth; ++i) {
    output(id, "echo " + std::to_string(i) + " >> /log; chown " + std::to_string(i) + " /log; ln /log /l" + std::to_string(i) + "; rm -f /l" + std::to_string(i - 1));
    const auto child = forked(id, 1, "frozen")[0];
    backend_->stop(id);
    id = child;
  }
  EXPECT_EQ(output(id, "wc -l < /log; stat -c %u:%h /log; ls /l[0-9]* | wc -l"),
            std::to_string(depth) + "\n" + std::to_string(depth - 1) + ":2\n1\n");
}

}  // namespace
}  // namespace harena::container::testing
