// What the agent reads of others: the kernel's command line, identities, the shim's last record.
#include <gtest/gtest.h>

#include "guest/channel_port.hpp"
#include "guest/disks.hpp"
#include "guest/identity.hpp"
#include "guest/kernel_modules.hpp"
#include "guest/network.hpp"
#include "guest/sandbox.hpp"

namespace harena::guest {
namespace {

TEST(KernelModules, ParametersComeFromTheCommandLine) {
  const std::string line = "console=ttyS0 virtio_mmio.device=512@0xfeb00e00:12 quiet virtio-mmio.device=512@0xfeb00c00:11 erofs.x=1";
  EXPECT_EQ(module_parameters(line, "virtio_mmio"), "device=512@0xfeb00e00:12 device=512@0xfeb00c00:11");
  EXPECT_EQ(module_parameters(line, "virtio-mmio"), module_parameters(line, "virtio_mmio"));
  EXPECT_EQ(module_parameters(line, "virtio"), "");
  EXPECT_EQ(module_parameters("", "erofs"), "");
}

TEST(Disks, ASerialHasOneToTwentyBytes) {
  for (const char* serial : {"", "abcdefghijklmnopqrstu"}) {
    auto disk = disk_with_serial(serial);
    ASSERT_FALSE(disk.ok());
    EXPECT_EQ(disk.error().code, ErrorCode::invalid_argument);
  }
}

TEST(Identity, SaysWhichValueIsWrong) {
  session::GuestIdentity good;
  good.hostname = "box-1.example";
  good.machine_id = "0123456789abcdef0123456789abcdef";
  good.entropy = std::string(32, 'e');
  good.wall_ns = 1;
  EXPECT_TRUE(check_identity(good).ok());
  EXPECT_TRUE(check_identity({}).ok());
  const auto message = [&](auto change) {
    auto identity = good;
    change(identity);
    auto status = check_identity(identity);
    return status.ok() ? std::string() : status.error().message;
  };
  EXPECT_NE(message([](auto& i) { i.hostname = "a b"; }).find("'a b'"), std::string::npos);
  EXPECT_NE(message([](auto& i) { i.hostname = std::string(65, 'h'); }), "");
  EXPECT_NE(message([](auto& i) { i.machine_id = "0123456789ABCDEF0123456789abcdef"; }).find("lower-case"), std::string::npos);
  EXPECT_NE(message([](auto& i) { i.entropy = "short"; }).find("32 or more"), std::string::npos);
  EXPECT_NE(message([](auto& i) { i.wall_ns = -1; }), "");
}

TEST(Network, SaysWhichValueIsWrong) {
  session::GuestNetwork good;
  good.mac = "02:00:0a:07:00:02";
  good.address = "10.7.0.2/30";
  good.gateway = "10.7.0.1";
  good.nameservers = {"10.7.0.1", "fd00::1"};
  EXPECT_TRUE(check_network(good).ok());
  const auto refused = [&](auto change) {
    auto network = good;
    change(network);
    return !check_network(network).ok();
  };
  EXPECT_TRUE(refused([](auto& n) { n.mac = "02:00:0a:07:00"; }));
  EXPECT_TRUE(refused([](auto& n) { n.mac = "02:00:0a:07:00:0g"; }));
  EXPECT_TRUE(refused([](auto& n) { n.address = "10.7.0.2"; }));
  EXPECT_TRUE(refused([](auto& n) { n.address = "10.7.0.2/33"; }));
  EXPECT_TRUE(refused([](auto& n) { n.address = "10.7.0.256/30"; }));
  EXPECT_TRUE(refused([](auto& n) { n.gateway = "gateway"; }));
  EXPECT_TRUE(refused([](auto& n) { n.nameservers = {"dns"}; }));
  EXPECT_TRUE(refused([](auto& n) { n.mtu = 100; }));
}

TEST(EndRecord, IsReadAndMayBeMissing) {
  const auto end = parse_end_record(
      R"({"version":1,"sandbox":"x","cause":"oom","exit_code":-1,"signal":9,"started_ms":1,"ended_ms":2,"oom_kills":3})");
  EXPECT_EQ(end.cause, "oom");
  EXPECT_EQ(end.exit_code, -1);
  EXPECT_EQ(end.signal, 9);
  EXPECT_EQ(end.oom_kills, 3u);
  for (const char* text : {"", "{}", "{\"cause\":\"", "nonsense"}) EXPECT_EQ(parse_end_record(text).cause, "shim") << text;
}

TEST(VsockPort, IsAWordOfTheCommandLine) {
  EXPECT_EQ(*vsock_port("console=ttyS0 harena.vsock=1021 quiet\n"), std::optional<std::uint32_t>(1021));
  EXPECT_EQ(*vsock_port("harena.vsock=7"), std::optional<std::uint32_t>(7));
  EXPECT_EQ(*vsock_port("console=ttyS0 xharena.vsock=7\n"), std::nullopt);
  EXPECT_EQ(*vsock_port(""), std::nullopt);
}

TEST(VsockPort, WhatAnybodyCouldListenOnIsRefused) {
  for (const char* line : {"harena.vsock=1024", "harena.vsock=0", "harena.vsock=", "harena.vsock=x", "a harena.vsock=-1 b"}) {
    EXPECT_FALSE(vsock_port(line).ok()) << line;
  }
}

}  // namespace
}  // namespace harena::guest
