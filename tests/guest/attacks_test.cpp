// Incidents 1 to 5 in a microVM: root in the sandbox against the platform's part of its own machine.
#include "tests/guest/guest_fixture.hpp"

namespace harena::guest_test {
namespace {

class Attacks : public GuestTest {};

TEST_F(Attacks, RootFindsReachesAndReplacesNothingOfThePlatform) {
  auto result = must_run(argv({"/bin/attack"}));
  EXPECT_EQ(result.exit.code, 0) << result.out << result.err;
  EXPECT_EQ(result.out.find("BROKEN"), std::string::npos) << result.out;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 23) << "each attack says how it ended:\n" << result.out;
  EXPECT_EQ(out_of("echo alive"), "alive\n");
}

TEST_F(Attacks, EveryCommandIsFilteredAndNamespacesOfItsOwnStillWork) {
  EXPECT_EQ(out_of("grep -E '^(Seccomp|NoNewPrivs):' /proc/self/status"), "NoNewPrivs:\t1\nSeccomp:\t2\n");
  EXPECT_EQ(out_of("unshare -Urm sh -c 'mount -t tmpfs mine /tmp && echo x > /tmp/x && cat /tmp/x'; ls /tmp/x 2>/dev/null || true"), "x\n");
}

TEST_F(Attacks, AReplacedShellDoesNotFoolTrustedTools) {
  auto request = shell("echo trusted");
  request.trusted_tools = true;
  (void)out_of("cp /bin/busybox /work/busybox; printf '#!/work/busybox sh\\necho lies\\n' > /work/sh; chmod 755 /work/sh; "
               "mv /bin/sh /bin/sh.kept && mv /work/sh /bin/sh");
  EXPECT_EQ(must_run(shell("echo honest")).out, "lies\n") << "the attack itself";
  EXPECT_EQ(must_run(request).out, "trusted\n");
  EXPECT_EQ(must_run(argv({"/work/busybox", "mv", "/bin/sh.kept", "/bin/sh"})).exit.code, 0);
}

TEST_F(Attacks, ABombIsKeptWithinItsLimits) {
  auto bomb = must_run(shell("f() { f | f & }; f; i=0; while [ $i -lt 300 ]; do sleep 60 & i=$((i+1)); done; exit 3"));
  EXPECT_NE(bomb.exit.code, 0);
  // The platform answers meanwhile: its processes aren't in the sandbox's group.
  auto metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
  ASSERT_TRUE(metrics.ok()) << metrics.error().describe();
  EXPECT_LE(metrics->pids, 200u);
  ASSERT_TRUE(await(client.forget(bomb.command)).ok());
  // The dead count until the sandbox's init has reaped them.
  for (int tries = 0; metrics.ok() && metrics->pids > 100 && tries < 200; ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
  }
  EXPECT_EQ(out_of("echo alive"), "alive\n");
}

TEST_F(Attacks, MemoryRunsOutForTheSandboxAlone) {
  // Together more than there is, each less than the kernel refuses at once.
  (void)must_run(shell("dd if=/dev/zero of=/dev/null bs=120M count=3 & dd if=/dev/zero of=/dev/null bs=120M count=3; wait"));
  EXPECT_EQ(out_of("echo alive"), "alive\n");
  auto metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
  ASSERT_TRUE(metrics.ok());
  EXPECT_GE(metrics->oom_kills, 1u);
}

}  // namespace
}  // namespace harena::guest_test
