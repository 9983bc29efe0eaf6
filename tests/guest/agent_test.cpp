// Questions to the agent of a real machine.
#include "tests/guest/guest_fixture.hpp"

namespace harena::guest_test {
namespace {

class Agent : public GuestTest {};

ErrorCode code_of(const Status& status) { return status.ok() ? ErrorCode::ok : Status(status).error().code; }
template <class T>
ErrorCode code_of(const Result<T>& result) {
  return result.ok() ? ErrorCode::ok : result.error().code;
}

std::int64_t now_ns() { return std::chrono::system_clock::now().time_since_epoch().count(); }

TEST_F(Agent, ConfiguresOnce) {
  auto again = machine->ask<ConfigureAnswer>(Machine::plain_request());
  ASSERT_TRUE(again.ok()) << again.error().describe();
  EXPECT_EQ(*again, configured);
  auto other = Machine::plain_request();
  other.sandbox = "edge1000000000000002";
  EXPECT_EQ(code_of(machine->ask<ConfigureAnswer>(other)), ErrorCode::failed_precondition);
}

TEST_F(Agent, CountsWhatTheSandboxUses) {
  (void)out_of("head -c 20000000 /dev/zero > /work/much; sleep 1000 & sleep 1000 &");
  auto metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
  ASSERT_TRUE(metrics.ok()) << metrics.error().describe();
  EXPECT_GE(metrics->pids, 3u);
  EXPECT_GT(metrics->memory_bytes, 1u << 20);
  EXPECT_GT(metrics->memory_limit_bytes, 100u << 20);
  EXPECT_LT(metrics->memory_limit_bytes, 256u << 20);
  EXPECT_GT(metrics->cpu_usec, 0u);
  EXPECT_GE(metrics->disk_bytes, 20'000'000u);
  EXPECT_GT(metrics->disk_limit_bytes, 400u << 20);
  EXPECT_FALSE(metrics->frozen);
}

TEST_F(Agent, FreezeStopsEveryInstructionAndThawGoesOn) {
  (void)out_of("rm -f /work/ticks; (while :; do echo t >> /work/ticks; usleep 5000; done) >/dev/null 2>&1 &");
  for (bool filesystems : {false, true}) {
    FreezeRequest request;
    request.filesystems = filesystems;
    ASSERT_EQ(code_of(machine->tell(request)), ErrorCode::ok);
    ASSERT_EQ(code_of(machine->tell(request)), ErrorCode::ok) << "twice is as good as once";
    auto metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
    ASSERT_TRUE(metrics.ok());
    EXPECT_TRUE(metrics->frozen);
    const auto cpu = metrics->cpu_usec;
    metrics = machine->ask<MetricsAnswer>(MetricsRequest{});
    EXPECT_EQ(metrics->cpu_usec, cpu);
    ASSERT_EQ(code_of(machine->tell(ThawRequest{})), ErrorCode::ok);
    ASSERT_EQ(code_of(machine->tell(ThawRequest{})), ErrorCode::ok);
  }
  const auto before = std::stol(out_of("wc -l < /work/ticks"));
  (void)out_of("while [ $(wc -l < /work/ticks) -le " + std::to_string(before + 3) + " ]; do usleep 5000; done");
}

TEST_F(Agent, RenewsTheIdentityOfAClone) {
  const auto random_before = out_of("head -c 16 /dev/urandom | od -An -tx1");
  ASSERT_EQ(code_of(machine->tell(FreezeRequest{})), ErrorCode::ok);
  RenewRequest request;
  request.identity.hostname = "clone-7";
  request.identity.machine_id = "ffffffffffffffffffffffffffffffff";
  request.identity.entropy = std::string(48, 'r');
  request.identity.wall_ns = now_ns() + 3'600'000'000'000;
  request.sandbox = "edge1000000000000007";
  auto answer = machine->ask<RenewAnswer>(request);
  ASSERT_TRUE(answer.ok()) << answer.error().describe();
  EXPECT_EQ(answer->renewed, (std::vector<std::string>{"clock", "entropy", "hostname", "machine-id", "sandbox"}));
  EXPECT_NEAR(static_cast<double>(answer->clock_step_ns), 3.6e12, 5e8);
  ASSERT_EQ(code_of(machine->tell(ThawRequest{})), ErrorCode::ok);
  EXPECT_EQ(out_of("hostname; cat /etc/hostname /etc/machine-id"), "clone-7\nclone-7\nffffffffffffffffffffffffffffffff\n");
  EXPECT_NEAR(std::stod(out_of("date +%s")), static_cast<double>(std::time(nullptr) + 3600), 5);
  RenewRequest back;
  back.identity.wall_ns = now_ns();
  ASSERT_TRUE(machine->ask<RenewAnswer>(back).ok());
}

TEST_F(Agent, NamesTheHooksOfACloneThatArePrograms) {
  (void)out_of("mkdir -p /etc/harena/clone.d; cd /etc/harena/clone.d; for i in 20-b 10-a x.dpkg-old .hidden; do echo '#!/bin/sh' > $i; chmod 755 $i; done;"
               "echo no > 30-no; ln -s 10-a 40-link; mkdir 50-folder");
  RenewRequest request;
  request.identity.wall_ns = now_ns();
  auto resumed = machine->ask<RenewAnswer>(request);
  ASSERT_TRUE(resumed.ok()) << resumed.error().describe();
  EXPECT_TRUE(resumed->hooks.empty()) << "it is nobody else";
  request.identity.hostname = "clone-8";
  auto cloned = machine->ask<RenewAnswer>(request);
  ASSERT_TRUE(cloned.ok()) << cloned.error().describe();
  EXPECT_EQ(cloned->hooks, (std::vector<std::string>{"10-a", "20-b"}));
  (void)out_of("mv /etc/harena/clone.d /etc/harena/real; ln -s real /etc/harena/clone.d");
  cloned = machine->ask<RenewAnswer>(request);
  ASSERT_TRUE(cloned.ok()) << cloned.error().describe();
  EXPECT_TRUE(cloned->hooks.empty()) << "no link is followed";
  (void)out_of("rm /etc/harena/clone.d; mkdir /etc/harena/clone.d; cd /etc/harena/clone.d; for i in $(seq 100 130); do cp ../real/10-a $i; done");
  cloned = machine->ask<RenewAnswer>(request);
  ASSERT_TRUE(cloned.ok()) << cloned.error().describe();
  EXPECT_EQ(cloned->hooks.size(), 16u);
  (void)out_of("rm -r /etc/harena");
}

TEST_F(Agent, AStepOfTheWallClockEndsNoSleepEarly) {
  auto result = await([](SessionClient client, Machine& machine) -> Task<Result<std::string>> {
    const std::string text = "a=$(cut -d. -f1 /proc/uptime); echo; sleep 3; b=$(cut -d. -f1 /proc/uptime); echo $((b - a))";
    HARENA_CO_TRY(auto attached, co_await client.start_attached(shell(text)));
    HARENA_CO_TRY(auto first, co_await attached.output.next());
    RenewRequest request;
    request.identity.wall_ns = now_ns() + 86'400'000'000'000;
    HARENA_CO_TRY(auto answer, machine.ask<RenewAnswer>(request));
    HARENA_CO_TRY(auto rest, co_await collect(attached.output, first.bytes.size()));
    co_return rest.out;
  }(client, *machine));
  ASSERT_TRUE(result.ok()) << result.error().describe();
  EXPECT_GE(std::atoi(result->c_str()), 3);
}

TEST_F(Agent, NamesWhatIsWrong) {
  RenewRequest request;
  request.identity.machine_id = "short";
  auto answer = machine->ask<RenewAnswer>(request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(answer.error().message.find("'short'"), std::string::npos) << answer.error().message;
  auto unknown = machine->ask_raw(FrameType::agent_renew, encode(StartRequest{.argv = {"x"}}));
  EXPECT_FALSE(unknown.ok());
  auto strange = machine->ask_raw(FrameType::stats, "");
  EXPECT_EQ(code_of(strange), ErrorCode::unimplemented);
}

// Machines of their own.

TEST(Machine, AnUnknownDiskIsNamed) {
  if (!what_is_missing().empty()) GTEST_SKIP() << what_is_missing();
  Machine machine;
  auto request = Machine::plain_request();
  request.layers = {"layer0", "layer9"};
  auto answer = machine.configure(request);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::not_found);
  EXPECT_NE(answer.error().message.find("'layer9'"), std::string::npos) << answer.error().message;
  EXPECT_NE(answer.error().message.find("layer0"), std::string::npos) << answer.error().message;
  // Nothing was begun: the right request is taken.
  EXPECT_TRUE(machine.configure(Machine::plain_request()).ok());
}

TEST(Machine, WithoutADiskChangesAreKeptInMemory) {
  if (!what_is_missing().empty()) GTEST_SKIP() << what_is_missing();
  MachineOptions options;
  options.disk = false;
  Machine machine(options);
  auto request = Machine::plain_request();
  request.disk = "";
  request.memory_disk_bytes = 32 << 20;
  auto answer = machine.configure(request);
  ASSERT_TRUE(answer.ok()) << answer.error().describe();
  auto metrics = machine.ask<MetricsAnswer>(MetricsRequest{});
  ASSERT_TRUE(metrics.ok());
  EXPECT_EQ(metrics->disk_limit_bytes, 32u << 20);
}

TEST(Machine, ANetworkDeviceBelongsToTheSandboxAndIsRenewed) {
  if (!what_is_missing().empty()) GTEST_SKIP() << what_is_missing();
  MachineOptions options;
  // A hub with nothing else on it: no traffic leaves the machine.
  options.qemu = {"-netdev", "hubport,id=net,hubid=0", "-device", "virtio-net-device,netdev=net,mac=02:00:0a:07:00:02"};
  Machine machine(options);
  auto request = Machine::plain_request();
  GuestNetwork network;
  network.mac = "02:00:0a:07:00:02";
  network.address = "10.7.0.2/30";
  network.gateway = "10.7.0.1";
  network.nameservers = {"10.7.0.1"};
  network.mtu = 1400;
  request.identity.network = network;
  auto answer = machine.configure(request);
  ASSERT_TRUE(answer.ok()) << answer.error().describe() << machine.console();
  boost::asio::io_context io(1);
  SessionClient client(Endpoint::over_unix(machine.session_socket()));
  const auto look = [&] {
    std::optional<Result<RunResult>> out;
    io.restart();
    const auto text = "ifconfig eth0; route -n; cat /etc/resolv.conf";
    boost::asio::co_spawn(io, http::detail::store_result(run(client, shell(text)), out), [](std::exception_ptr) {});
    while (!out) io.run_one();
    return out->ok() ? (*out)->out + (*out)->err : out->error().describe();
  };
  auto seen = look();
  for (const char* part : {"02:00:0A:07:00:02", "inet addr:10.7.0.2", "Mask:255.255.255.252", "MTU:1400", "UP", "10.7.0.1", "nameserver 10.7.0.1"}) {
    EXPECT_NE(seen.find(part), std::string::npos) << part << " in\n" << seen;
  }
  RenewRequest renew;
  renew.identity.network = network;
  renew.identity.network->mac = "02:00:0a:07:00:06";
  renew.identity.network->address = "10.7.0.6/30";
  renew.identity.network->gateway = "10.7.0.5";
  auto renewed = machine.ask<RenewAnswer>(renew);
  ASSERT_TRUE(renewed.ok()) << renewed.error().describe();
  EXPECT_EQ(renewed->renewed, (std::vector<std::string>{"network", "mac", "neighbours"}));
  seen = look();
  for (const char* part : {"02:00:0A:07:00:06", "inet addr:10.7.0.6", "10.7.0.5"}) EXPECT_NE(seen.find(part), std::string::npos) << part << " in\n" << seen;
  EXPECT_EQ(seen.find("10.7.0.2"), std::string::npos) << seen;
}

TEST(Machine, PowersOffCleanlyWhenAsked) {
  if (!what_is_missing().empty()) GTEST_SKIP() << what_is_missing();
  Machine machine;
  ASSERT_TRUE(machine.configure(Machine::plain_request()).ok());
  auto end = std::make_shared<std::promise<Result<std::string>>>();
  const auto on_end = [end](Result<std::string> answer) { end->set_value(std::move(answer)); };
  machine.with_bridge([on_end](ChannelBridge& bridge) { bridge.ask(WaitRequest{}, 0, on_end); });
  PowerOffRequest request;
  request.grace_ms = 100;
  ASSERT_TRUE(machine.tell(request).ok());
  auto answer = end->get_future().get();
  ASSERT_TRUE(answer.ok()) << answer.error().describe();
  EXPECT_EQ(decode<WaitAnswer>(*answer)->cause, "stop");
  EXPECT_TRUE(machine.wait_qemu_end(20)) << machine.console();
  EXPECT_EQ(std::system(("e2fsck -fn " + machine.folder() + "/disk.img >/dev/null 2>&1").c_str()), 0) << "the disk was left clean";
}

}  // namespace
}  // namespace harena::guest_test
