// Commands whose process shares the spawner's memory until its exec (shim/light_child.hpp): they are what a copy would have been, and one that is
// held up on its way holds up nobody else. A command of "0:0" is root like one of "", and is made by copy.

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <thread>

#include "shim/light_child.hpp"
#include "tests/integration/session/namespace_fixture.hpp"

namespace harena::session {
namespace {

class LightCommands : public NamespaceTest {
 protected:
  StartRequest by_copy(StartRequest request) {
    request.user = "0:0";
    return request;
  }
  std::string words_of(StartRequest request) {
    auto result = try_run(std::move(request));
    if (result) return "it ran";
    const auto& error = result.error();
    return std::string(to_string(error.code)) + "/" + std::string(to_string(error.cause)) + "/" + error.cause_detail + ": " + error.message;
  }
  /// The shim's child that lives in the sandbox's user namespace.
  pid_t init() {
    const std::string shim = std::to_string(box->pid());
    std::ifstream children("/proc/" + shim + "/task/" + shim + "/children");
    for (pid_t child; children >> child;) {
      std::ifstream map("/proc/" + std::to_string(child) + "/uid_map");
      long inside = -1, outside = -1;
      if (map >> inside >> outside && outside == kOutsideId) return child;
    }
    return -1;
  }
  static bool is_zombie(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text((std::istreambuf_iterator<char>(file)), {});
    const auto name_end = text.rfind(')');
    return name_end == std::string::npos || text.compare(name_end, 3, ") Z") == 0;
  }
  void freeze(const char* value) {
    auto group = box->tree().open_sandbox("box");
    ASSERT_TRUE(group.ok());
    sandbox_detail::write_text("/proc/self/fd/" + std::to_string(group->fd()) + "/cgroup.freeze", value);
  }
  /// Processes in the groups of commands.
  std::size_t born() {
    auto group = box->tree().open_sandbox("box");
    std::size_t count = 0;
    auto names = list_directory(group->fd(), ".");
    for (const auto& name : names.ok() ? *names : std::vector<std::string>{}) {
      if (!name.starts_with("cmd-")) continue;
      std::ifstream members("/proc/self/fd/" + std::to_string(group->fd()) + "/" + name + "/cgroup.procs");
      for (std::string line; std::getline(members, line);) ++count;
    }
    return count;
  }
};

TEST_F(LightCommands, AreWhatACopyWouldBe) {
  HARENA_MAKE_SANDBOX();
  // One CPU, as a small sandbox has it: commands take their init's.
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  ASSERT_EQ(::sched_setaffinity(init(), sizeof first, &first), 0);
  const auto look = shell(
      "id; pwd; umask; env | sort; ls -l /proc/self/fd | wc -l; ulimit -a; grep -E '^(Uid|Gid|Groups|Cap|Cpus_allowed|NoNewPrivs|Seccomp|Sig|Shd)' /proc/self/status; "
      "cat /proc/self/oom_score_adj /proc/self/cgroup | sed 's/cmd-[0-9]*//'; [ $(ps -o sid= -p $$) = $$ ] && echo leader");
  const auto light = must_run(look), copy = must_run(by_copy(look));
  EXPECT_NE(light.out.find("leader"), std::string::npos) << light.out << light.err;
  EXPECT_NE(light.out.find("Cpus_allowed_list:\t0\n"), std::string::npos) << light.out;
  EXPECT_EQ(light.out, copy.out);
  EXPECT_EQ(light.exit.code, copy.exit.code);
}

TEST_F(LightCommands, FailWithTheWordsOfACopy) {
  HARENA_MAKE_SANDBOX();
  ASSERT_EQ(must_run(shell("printf '#!/no/such' > /tmp/script; echo text > /tmp/text; chmod 755 /tmp/script /tmp/text; mkdir /tmp/folder; touch /tmp/file")).exit.code, 0);
  std::vector<StartRequest> all = {argv({"no-such-program"}), argv({"/no/such"}), argv({"/tmp/script"}), argv({"/tmp/text"}), argv({"/tmp/folder"}),
                                   argv({"/tmp/file"}), argv({"/tmp/file/below"}), argv({"true"}), argv({"true"}), argv({"true", std::string(200 << 10, 'x')})};
  all[7].cwd = "/no/such/folder";
  all[8].cwd = "/tmp/file";
  auto with_path = argv({"no-such-program"});
  with_path.env = {{"PATH", "/tmp:/usr/bin"}};
  all.push_back(with_path);
  for (const auto& request : all) {
    const auto words = words_of(request);
    EXPECT_NE(words, "it ran") << request.argv.front();
    EXPECT_EQ(words, words_of(by_copy(request)));
  }
}

TEST_F(LightCommands, ThoseThatAreHeldUpHoldUpNobody) {
  HARENA_MAKE_SANDBOX();
  ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
  constexpr std::size_t kCommands = shim::LightChildren::kSlots + 16;
  freeze("1");
  std::size_t ended = 0, seven = 0;
  auto one = [&]() -> http::Task<void> {
    auto result = co_await run(*client, shell("exit 7"));
    ++ended;
    if (result && result->exit.code == 7) ++seven;
  };
  io.restart();
  for (std::size_t i = 0; i < kCommands; ++i) boost::asio::co_spawn(io, one(), boost::asio::detached);
  // All are born, the last ones by copy: nobody waited for the exec of those before.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (born() < kCommands && std::chrono::steady_clock::now() < until) io.run_one_for(std::chrono::milliseconds(5));
  EXPECT_EQ(born(), kCommands);
  EXPECT_EQ(ended, 0u);
  freeze("0");
  io.run();
  EXPECT_EQ(seven, kCommands);
}

TEST_F(LightCommands, WhatIsAskedBehindTheInitsDeathIsNotTheRequestsFault) {
  for (const bool copied : {false, true}) {
    HARENA_MAKE_SANDBOX();
    ASSERT_EQ(must_run(argv({"true"})).exit.code, 0);
    const pid_t dying = init();
    ASSERT_GT(dying, 0);
    // The shim sees the request and the death in one turn.
    ASSERT_EQ(::kill(box->pid(), SIGSTOP), 0);
    ASSERT_EQ(::kill(dying, SIGKILL), 0);
    while (!is_zombie(dying)) std::this_thread::yield();
    std::optional<Error> error;
    auto ask = [&]() -> http::Task<void> {
      auto request = argv({"true"});
      if (copied) request = by_copy(std::move(request));
      auto result = co_await run(*client, request);
      if (!result) error = result.error();
    };
    io.restart();
    boost::asio::co_spawn(io, ask(), boost::asio::detached);
    io.poll();
    ASSERT_EQ(::kill(box->pid(), SIGCONT), 0);
    io.run();
    ASSERT_TRUE(error) << "it ran in a sandbox without an init";
    EXPECT_EQ(error->code, ErrorCode::unavailable) << error->describe();
    EXPECT_EQ(error->retry, Retry::same_node) << error->describe();
    box.reset();
  }
}

}  // namespace
}  // namespace harena::session
