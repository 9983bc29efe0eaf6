#include "plugins/microvm/parameters.hpp"

#include <gtest/gtest.h>

#include "plugins/microvm/settings.hpp"

namespace harena::microvm {
namespace {

TEST(MicrovmParameters, SizesAreWholeMebibytesAndCpusWholeCores) {
  auto parsed = parse_parameters({{"memory", "200000001"}, {"cpu", 1.5}, {"disk_bytes", 16777217}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->memory_bytes % (1 << 20), 0);
  EXPECT_GE(parsed->memory_bytes, 200000001);
  EXPECT_EQ(parsed->cpus(), 2);
  EXPECT_EQ(parsed->disk_bytes, 17 << 20);
}

TEST(MicrovmParameters, WhatIsWrongIsNamed) {
  const std::pair<json, const char*> wrong[] = {
      {{{"memory", "64MiB"}}, "memory"},       {{{"memory", -1}}, "memory"},        {{{"memory", nullptr}}, "memory"},
      {{{"memory_bytes", 1.5}}, "memory_bytes"}, {{{"cpu", 0}}, "cpu"},             {{{"cpu", "two"}}, "cpu"},
      {{{"disk", "1PiB"}}, "disk"},            {{{"pids", 0}}, "pids"},             {{{"hostname", "-x"}}, "hostname"},
      {{{"env", {{"A=B", "c"}}}}, "env.A=B"},  {{{"user", std::string("a\0b", 3)}}, "user"}, {{{"memroy", 1}}, "memroy"},
      {{{"memory", "1GiB"}, {"memory_bytes", 1 << 30}}, "memory_bytes"}, {{{"readonly_rootfs", 1}}, "readonly_rootfs"},
      {{{"verify", "some"}}, "verify"}, {{{"verify", true}}, "verify"}};
  for (const auto& [params, name] : wrong) {
    auto parsed = parse_parameters(params);
    ASSERT_FALSE(parsed.ok()) << params.dump();
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument) << params.dump();
    EXPECT_NE(parsed.error().message.find(name), std::string::npos) << parsed.error().message;
  }
}

TEST(MicrovmParameters, WhatItCantDoIsRefusedAndItsAbsenceIsFine) {
  for (const json& params : {json{{"gpu", 1}}, json{{"devices", {"/dev/kvm"}}}, json{{"mounts", {1}}}, json{{"privileged", true}},
                             json{{"network", {{"mode", "open"}}}}, json{{"network", {{"allow", {"1.1.1.1"}}}}}}) {
    auto parsed = parse_parameters(params);
    ASSERT_FALSE(parsed.ok()) << params.dump();
    EXPECT_EQ(parsed.error().code, ErrorCode::unimplemented) << params.dump();
  }
  EXPECT_TRUE(parse_parameters({{"devices", json::array()}, {"privileged", false}, {"network", {{"mode", "none"}}}}).ok());
}

TEST(MicrovmSettings, TheSchemasDefaultsAreThoseOfTheCode) {
  const json schema = json::parse(kSettingsSchema);
  EXPECT_EQ(schema["properties"]["uid_base"]["default"], kDefaultUidBase);
  EXPECT_EQ(schema["properties"]["uids"]["default"], kDefaultUids);
  EXPECT_EQ(schema["properties"]["overhead_mib"]["default"], kDefaultOverheadMib);
  EXPECT_EQ(parameters_schema()["properties"]["pids"]["default"], kDefaultPids);
}

TEST(MicrovmParameters, LimitsOfTheDiskAreReadAndTheirContradictionsNamed) {
  auto parsed = parse_parameters({{"io_bps", "20MiB"}, {"io_iops", 500}});
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(parsed->disk_limits.bps, 20 << 20);
  EXPECT_EQ(parsed->disk_limits.iops, 500);
  EXPECT_FALSE(parse_parameters(json::object())->disk_limits.any());
  const std::pair<json, const char*> wrong[] = {{{{"io_bps", 4095}}, "io_bps"},
                                                {{{"io_bps", "2PiB"}}, "io_bps"},
                                                {{{"io_iops", 0}}, "io_iops"},
                                                {{{"io_read_bps", "fast"}}, "io_read_bps"},
                                                {{{"io_write_iops", 1.5}}, "io_write_iops"},
                                                {{{"io_bps", 8192}, {"io_write_bps", 8192}}, "io_write_bps"},
                                                {{{"io_iops", 8}, {"io_read_iops", 8}}, "io_read_iops"}};
  for (const auto& [params, name] : wrong) {
    auto refused = parse_parameters(params);
    ASSERT_FALSE(refused.ok()) << params.dump();
    EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(refused.error().message.find(name), std::string::npos) << refused.error().message;
  }
}

TEST(MicrovmSettings, FirecrackerIsRefusedWhereItCantRun) {
  const auto refused = [](const json& config) {
    auto settings = Settings::parse(config);
    return settings.ok() ? std::string() : settings.error().message;
  };
  EXPECT_NE(refused({{"vmm", "firecracker"}, {"firecracker_path", "/opt/fc"}}).find("'/opt/fc'"), std::string::npos);
  EXPECT_NE(refused({{"vmm", "firecracker"}, {"accelerator", "tcg"}}).find("'tcg'"), std::string::npos);
  EXPECT_EQ(refused({{"vmm", "qemu"}, {"accelerator", "tcg"}}), "");

  const auto settings = Settings::parse({{"vmm", "firecracker"}, {"firecracker_path", "/opt/firecracker"}, {"kernel", "/etc/passwd"}});
  ASSERT_TRUE(settings.ok()) << settings.error().message;
  EXPECT_EQ(settings->program(), "/opt/firecracker");
  EXPECT_NE(check_vmm(*settings, {Accelerator::tcg, "no flag"}).error().message.find("no flag"), std::string::npos);
  EXPECT_NE(check_vmm(*settings, {Accelerator::kvm, ""}).error().message.find("/etc/passwd"), std::string::npos);
}

}  // namespace
}  // namespace harena::microvm
