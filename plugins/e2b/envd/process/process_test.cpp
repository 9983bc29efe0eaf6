#include <gtest/gtest.h>

#include "plugins/e2b/envd/accounts.hpp"
#include "plugins/e2b/envd/files/entry.hpp"
#include "plugins/e2b/envd/files/watch.hpp"
#include "plugins/e2b/envd/ports/port_forward.hpp"
#include "plugins/e2b/envd/process/process_event.hpp"
#include "plugins/e2b/envd/process/process_select.hpp"
#include "plugins/e2b/envd/process/process_start.hpp"
#include "plugins/e2b/envd/sandbox_metrics.hpp"

namespace harena::e2b {
namespace {

using nlohmann::json;

TEST(End, ExitCodesAndSignals) {
  const auto good = end_event({{"code", 0}, {"signal", nullptr}, {"cause", "exit"}}, "");
  EXPECT_EQ(good->exit_code(), 0);
  EXPECT_TRUE(good->exited());
  EXPECT_EQ(good->status(), "exit status 0");
  EXPECT_FALSE(good->has_error());
  const auto bad = end_event({{"code", 3}, {"signal", nullptr}, {"cause", "exit"}}, "");
  EXPECT_EQ(bad->error(), "exit status 3");
  const auto killed = end_event({{"code", nullptr}, {"signal", "KILL"}, {"cause", "signal"}}, "");
  EXPECT_EQ(killed->exit_code(), -1);
  EXPECT_FALSE(killed->exited());
  EXPECT_EQ(killed->status(), "signal: killed");
  EXPECT_EQ(killed->error(), "signal: killed");
}

TEST(End, LimitsAreTold) {
  const auto oom = end_event({{"code", nullptr}, {"signal", "KILL"}, {"cause", "oom"}}, "");
  EXPECT_EQ(oom->error(), "signal: killed: the sandbox's memory limit was hit");
  const auto cut = end_event({{"code", 0}, {"signal", nullptr}, {"cause", "exit"}}, "stdout is longer");
  EXPECT_EQ(cut->error(), "stdout is longer");
  EXPECT_EQ(end_event({{"code", nullptr}, {"signal", "KILL"}, {"cause", "timeout"}}, "").error().code, ErrorCode::deadline_exceeded);
  EXPECT_EQ(end_event({{"cause", "sandbox_stopped"}}, "").error().code, ErrorCode::unavailable);
}

TEST(Tags, AreReadBack) {
  const auto op = tagged_op("my tag/ä", "abc");
  ASSERT_TRUE(op.ok());
  EXPECT_LE(op->size(), 128u);
  EXPECT_EQ(tag_of({{"op", *op}}), "my tag/ä");
  EXPECT_FALSE(tag_of({{"op", "someone's own"}}).has_value());
  EXPECT_FALSE(tag_of(json::object()).has_value());
  EXPECT_LE(tagged_op(std::string(80, 'x'), std::string(12, 'a'))->size(), 128u);
  EXPECT_FALSE(tagged_op(std::string(81, 'x'), "a").ok());
}

json command(int pid, const char* state, int started, std::int64_t exited = 0) {
  json out = {{"id", std::to_string(started)}, {"pid", pid}, {"state", state}, {"started_ms", started}};
  if (exited != 0) out["exit"] = {{"exited_ms", exited}};
  return out;
}

TEST(Select, RunningThenYoungest) {
  process::ProcessSelector pid;
  pid.set_pid(7);
  const json commands = {command(7, "exited", 1, 900), command(7, "running", 2), command(8, "running", 3), command(7, "exited", 4, 950)};
  EXPECT_EQ((*select_command(commands, pid, Wanted::running, 1000))["id"], "2");
  const json ended = {command(7, "exited", 1, 900), command(7, "exited", 4, 950)};
  EXPECT_EQ(select_command(ended, pid, Wanted::running, 1000).error().code, ErrorCode::not_found);
  EXPECT_EQ((*select_command(ended, pid, Wanted::running_or_just_ended, 1000))["id"], "4");
  EXPECT_FALSE(select_command(ended, pid, Wanted::running_or_just_ended, 950 + kEndRetentionMs + 1).ok());
  EXPECT_EQ(select_command(commands, process::ProcessSelector(), Wanted::running, 0).error().code, ErrorCode::invalid_argument);
}

TEST(Frames, AreCutOut) {
  const std::string frame = std::string("\1\0\0\0\2\0\0\0", 8) + std::string(8, '\0') + "hi";
  OutputFrames frames;
  for (std::size_t i = 0; i + 1 < frame.size(); ++i) {
    frames.add(frame.substr(i, 1));
    EXPECT_FALSE(frames.next().has_value());
  }
  frames.add(frame.substr(frame.size() - 1));
  const auto found = frames.next();
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->kind, OutputFrame::Kind::out);
  EXPECT_EQ(found->payload, "hi");
}

TEST(Start, BodyOfTheApi) {
  SandboxAccess sandbox;
  sandbox.environment = {{"A", "template"}, {"B", "template"}};
  StartContext context{sandbox, "user", "/work", "", std::chrono::milliseconds(5000)};
  process::StartRequest request;
  EXPECT_FALSE(start_body(request, context).ok());
  request.mutable_process()->set_cmd("/bin/bash");
  (*request.mutable_process()->mutable_envs())["B"] = "own";
  auto body = start_body(request, context);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ((*body)["env"], json({{"A", "template"}, {"B", "own"}}));
  EXPECT_EQ((*body)["stdin"], "pipe");  // absent
  EXPECT_EQ((*body)["timeout_ms"], 5000);
  EXPECT_EQ((*body)["on_disconnect"], "keep");
  request.set_stdin(false);
  EXPECT_EQ((*start_body(request, context))["stdin"], "none");
  request.mutable_pty()->mutable_size()->set_cols(100);
  EXPECT_EQ((*start_body(request, context))["pty"], json({{"cols", 100}, {"rows", 24}}));
  EXPECT_EQ(start_error(make_error(ErrorCode::not_found, ""), "no_such_cwd", request, context).message, "cwd '/work' does not exist");
  EXPECT_EQ(start_error(make_error(ErrorCode::not_found, ""), "no_such_user", request, context).code, ErrorCode::unauthenticated);
}

TEST(Accounts, FromTheSandboxsFiles) {
  const auto all = Accounts::parse("root:x:0:0:root:/root:/bin/sh\nbad line\nuser:x:1000:1001::/home/user:/bin/bash\nn:x:5:5:::\n", "staff:x:1001:\n");
  const auto user = all.find("user");
  ASSERT_TRUE(user.ok());
  EXPECT_EQ(user->home, "/home/user");
  EXPECT_EQ(user->gid, 1001u);
  EXPECT_EQ(all.find("n")->home, "/");
  EXPECT_EQ(all.find("nobody").error().code, ErrorCode::unauthenticated);
  EXPECT_EQ(all.user_name(1000), "user");
  EXPECT_EQ(all.group_name(1001), "staff");
  EXPECT_EQ(all.user_name(77), "77");
  EXPECT_TRUE(Accounts::parse("", "").find("root").ok());
}

TEST(Paths, AreExpandedAndCleaned) {
  const Account user{"user", 1000, 1000, "/home/user"};
  EXPECT_EQ(*expand_path("a/../b", user, ""), "/home/user/b");
  EXPECT_EQ(*expand_path("", user, ""), "/home/user");
  EXPECT_EQ(*expand_path("x", user, "/code"), "/code/x");
  EXPECT_EQ(*expand_path("~/x", user, "/code"), "/home/user/x");
  EXPECT_EQ(*expand_path("~", user, "/code"), "/home/user");
  EXPECT_EQ(*expand_path("//a/./../../b/", user, ""), "/b");
  EXPECT_FALSE(expand_path("~other/x", user, "").ok());
  EXPECT_FALSE(expand_path(std::string_view("/a\0b", 4), user, "").ok());
  EXPECT_EQ(parent_path("/a"), "/");
  EXPECT_EQ(parent_path("/a/b"), "/a");
  EXPECT_EQ(base_name("/a/b"), "b");
  EXPECT_EQ(base_name("/"), "/");
  EXPECT_EQ(as_utf8("a\xff" "b"), "a\xEF\xBF\xBD" "b");
}

TEST(Entries, PermissionsAsGoWritesThem) {
  EXPECT_EQ(permissions_text("file", 0644), "-rw-r--r--");
  EXPECT_EQ(permissions_text("dir", 0755), "drwxr-xr-x");
  EXPECT_EQ(permissions_text("dir", 01777), "dtrwxrwxrwx");
  EXPECT_EQ(permissions_text("symlink", 0777), "Lrwxrwxrwx");
  EXPECT_EQ(permissions_text("file", 04755), "urwxr-xr-x");
  EXPECT_EQ(permissions_text("char", 0666), "Dcrw-rw-rw-");
  const auto entry = plain_entry({{"type", "file"}, {"mode", "0640"}, {"size", 3}, {"modified_ms", -1}}, "/a/b");
  EXPECT_EQ(entry.mode(), 0640u);
  EXPECT_EQ(entry.modified_time().seconds(), -1);
  EXPECT_EQ(entry.modified_time().nanos(), 999'000'000);
}

TEST(Watch, EventsByName) {
  const auto create = watch_events({{"event", "create"}, {"path", "/w/a/b"}}, "/w");
  ASSERT_EQ(create->size(), 1u);
  EXPECT_EQ((*create)[0].name(), "a/b");
  const auto rename = watch_events({{"event", "rename"}, {"path", "/w/a"}, {"to", "/w/b"}}, "/w");
  ASSERT_EQ(rename->size(), 2u);
  EXPECT_EQ((*rename)[0].type(), filesystem::EVENT_TYPE_RENAME);
  EXPECT_EQ((*rename)[1].type(), filesystem::EVENT_TYPE_CREATE);
  EXPECT_EQ((*rename)[1].name(), "b");
  EXPECT_TRUE(watch_events(json::object(), "/w")->empty());
  EXPECT_EQ(watch_events({{"overflow", true}}, "/w").error().code, ErrorCode::data_loss);
  EXPECT_EQ(watch_events({{"error", {{"code", "not_found"}, {"message", "x"}}}}, "/w").error().code, ErrorCode::not_found);
}

TEST(Watch, NetworkMounts) {
  const auto* mounts = "1 0 0:1 / / rw - overlay o rw\n2 1 0:2 / /data rw shared:1 - nfs4 h:/x rw\n3 1 0:3 / /data/own\\040disk rw - ext4 /dev/x rw\n";
  EXPECT_FALSE(on_network_mount(mounts, "/home"));
  EXPECT_TRUE(on_network_mount(mounts, "/data/x"));
  EXPECT_FALSE(on_network_mount(mounts, "/data/own disk/x"));
  EXPECT_FALSE(on_network_mount(mounts, "/database"));
}

TEST(Ports, HeadForTheApi) {
  http::StringBody nothing("");
  http::Request request({"GET", "/a%2Fb?x=1", {{"Host", "8080-abc.example.org"}, {"E2b-Traffic-Access-Token", "t"}, {"Authorization", "mine"}, {"Connection", "close"}}, "p"}, nothing);
  SandboxAccess sandbox;
  sandbox.id = "abc";
  sandbox.credential = "secret";
  auto head = port_head(request, sandbox, 8080);
  EXPECT_EQ(head.target, "/v1/sandboxes/abc/ports/8080/a%2Fb?x=1");
  EXPECT_EQ(head.headers.get("Authorization"), "mine");
  EXPECT_EQ(head.headers.get("Harena-Authorization"), "Bearer secret");
  EXPECT_FALSE(head.headers.contains("E2b-Traffic-Access-Token"));
  EXPECT_EQ(head.headers.get("Host"), "8080-abc.example.org");
  sandbox.mask_request_host = "localhost:${PORT}";
  EXPECT_EQ(port_head(request, sandbox, 8080).headers.get("Host"), "localhost:8080");
}

TEST(Metrics, OfTwoReadings) {
  const auto document = metrics_document({{"cpu_ns", 0}}, {{"cpu_ns", 50'000'000}, {"memory_bytes", 1 << 21}},
                                         {{"params", {{"cpu", 2}, {"memory", "512MiB"}}}}, 100'000'000, 5);
  EXPECT_EQ(document["cpu_used_pct"], 25.0);
  EXPECT_EQ(document["cpu_count"], 2);
  EXPECT_EQ(document["mem_total_mib"], 512);
  EXPECT_EQ(document["mem_used_mib"], 2);
}

}  // namespace
}  // namespace harena::e2b
