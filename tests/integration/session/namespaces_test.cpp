// Commands and files inside of namespaces (namespace_fixture.hpp).

#include "tests/integration/session/namespace_fixture.hpp"

namespace harena::session {
namespace {

class Namespaces : public NamespaceTest {};

TEST_F(Namespaces, CommandsAreRootInsideAndNobodyOutside) {
  HARENA_MAKE_SANDBOX();
  EXPECT_EQ(must_run(shell("id -u; id -g; id -G")).out, "0\n0\n0\n");
  auto map = must_run(shell("cat /proc/self/uid_map")).out;
  EXPECT_NE(map.find(std::to_string(kOutsideId)), std::string::npos);
  EXPECT_LT(std::stoi(must_run(shell("echo $$")).out), 100);
  EXPECT_NE(must_run(shell("grep NoNewPrivs /proc/self/status")).out.find('1'), std::string::npos);
  EXPECT_NE(must_run(shell("grep CapBnd /proc/self/status")).out.find("00000000a80425fb"), std::string::npos);
  auto user = argv({"id", "-u"});
  user.user = "nobody";
  EXPECT_EQ(must_run(user).out, "65534\n");
  EXPECT_EQ(must_run(shell("ls /proc/self/fd | wc -l")).out, "4\n");
  EXPECT_EQ(must_run(shell("ls /sys/class/net 2>/dev/null; cat /proc/net/dev | grep -c :")).exit.code, 0);
}

TEST_F(Namespaces, FilesAreTheSandboxsOwn) {
  HARENA_MAKE_SANDBOX();
  FileWriteRequest write;
  write.path = "/tmp/made";
  auto put = [&]() -> http::Task<Result<FileStat>> {
    HARENA_CO_TRY(auto writer, co_await client->write_file(write));
    HARENA_CO_TRY_STATUS(co_await writer.write("inside"));
    co_return co_await writer.finish();
  };
  auto stat = await(put());
  ASSERT_TRUE(stat) << stat.error().describe();
  EXPECT_EQ(stat->uid, 0u);
  EXPECT_EQ(must_run(shell("cat /tmp/made; stat -c %u /tmp/made")).out, "inside0\n");
  EXPECT_NE(::access("/tmp/made", F_OK), 0);
  // The agent's links can't lead out, nor to the worker's own descriptors.
  must_run(shell("ln -s ../../../../etc/hostname /tmp/link; ln -s /proc/1/root/etc/passwd /tmp/magic"));
  FileReadRequest read;
  read.path = "/tmp/magic";
  EXPECT_FALSE(await(client->read_file(read)));
  // No worker is visible inside.
  EXPECT_EQ(must_run(shell("ls /proc | grep -c '^[0-9]'")).exit.code, 0);
}

TEST_F(Namespaces, TimeoutEndsTheWholeLeaf) {
  HARENA_MAKE_SANDBOX();
  auto request = shell("setsid sh -c 'trap \"\" TERM; sleep 30' & (setsid sleep 30 &); sleep 30");
  request.timeout_ms = 300;
  auto result = must_run(request);
  EXPECT_EQ(result.exit.cause, ExitCause::timeout);
  EXPECT_EQ(must_run(shell("pgrep -c sleep || true")).out, "0\n");
}

TEST_F(Namespaces, PtyIsASessionOfItsOwn) {
  HARENA_MAKE_SANDBOX();
  auto request = shell("test -t 0 && stty size");
  request.pty = true;
  auto result = await(run(*client, request));
  if (!result && result.error().code == ErrorCode::failed_precondition) GTEST_SKIP() << result.error().message;
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_NE(result->out.find("24 80"), std::string::npos);
}

TEST_F(Namespaces, DeathOfTheInitEndsAllAndIsRecorded) {
  HARENA_MAKE_SANDBOX();
  auto task = [&]() -> http::Task<Result<RunResult>> {
    HARENA_CO_TRY(auto attached, co_await client->start_attached(shell("echo begun; sleep 30")));
    HARENA_CO_TRY(auto first, co_await attached.output.next());
    (void)co_await client->shutdown(0);
    HARENA_CO_TRY(auto rest, co_await collect(attached.output, first.bytes.size()));
    rest.out = first.bytes;
    co_return rest;
  };
  auto result = await(task());
  ASSERT_TRUE(result) << result.error().describe();
  EXPECT_EQ(result->out, "begun\n");
  EXPECT_EQ(result->exit.cause, ExitCause::sandbox_stopped);
  box->await_end();
  EXPECT_NE(box->record().find("\"cause\":\"stop\""), std::string::npos) << box->record();
}

}  // namespace
}  // namespace harena::session
