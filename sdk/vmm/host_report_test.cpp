#include "sdk/vmm/host_report.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace harena::vmm {
namespace {

using nlohmann::json;

TEST(HostReport, WhatIsMissingIsAReasonAndAFindingWithItsCure) {
  HostReport report("microvm");
  EXPECT_TRUE(report_file(report, "shell", "/bin/sh", X_OK, "apt-get install dash"));
  EXPECT_FALSE(report_file(report, "kernel", "/no/kernel", R_OK, "apt-get install linux"));
  EXPECT_FALSE(report_file(report, "jailer", "", X_OK, "set jailer_path"));
  report.label("vmm", "qemu 7.2");
  report.warning("slow", "it is slow", "no KVM", "modprobe kvm");
  const json found = report.probe();
  EXPECT_EQ(found["usable"], false);
  EXPECT_EQ(found["why_not"], (json{"kernel isn't there: /no/kernel; apt-get install linux", "jailer isn't there; set jailer_path"}));
  EXPECT_EQ(found["facts"]["warnings"], (json{"it is slow: no KVM"}));
  EXPECT_EQ(found["facts"]["labels"], (json{{"vmm", "qemu 7.2"}}));
  EXPECT_EQ(found["facts"]["shell"], "/bin/sh");
  const json& findings = found["facts"]["findings"];
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0]["level"], "ok");
  EXPECT_EQ(findings[1]["id"], "microvm.kernel");
  EXPECT_EQ(findings[1]["level"], "error");
  EXPECT_EQ(findings[1]["fix"], "apt-get install linux");
  EXPECT_EQ(findings[3]["level"], "warning");
  for (const auto& finding : findings) EXPECT_EQ(finding["level"] != "ok", !finding["fix"].get<std::string>().empty()) << finding;
}

TEST(HostReport, WarningsAloneLeaveItUsable) {
  HostReport report("qemu");
  ASSERT_TRUE(report_accelerator(report, "tcg", "full machines").ok());
  const json found = report.probe();
  EXPECT_EQ(found["usable"], true);
  EXPECT_EQ(found["facts"]["labels"]["accelerator"], "tcg");
  EXPECT_EQ(found["facts"]["findings"][0]["fix"], "set accelerator to \"auto\" in harena.json");
}

TEST(ProgramVersion, IsTheFirstThatLooksLikeOne) {
  EXPECT_EQ(version_in("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18)"), "7.2.22");
  EXPECT_EQ(version_in("Firecracker v1.10.1\n"), "1.10.1");
  EXPECT_EQ(version_in("program 64 of 3.0."), "3.0");
  for (const char* none : {"", "no digits", "2024", "1..2", "."}) EXPECT_EQ(version_in(none), "") << none;
}

class Program : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "version-XXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/program";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void put(const std::string& text) {
    // By a rename: a program that somebody has open for writing can't be run, and another thread's child may hold it.
    std::ofstream(path_ + ".new") << "#!/bin/sh\n" << text << "\n";
    ::chmod((path_ + ".new").c_str(), 0755);
    std::filesystem::rename(path_ + ".new", path_);
  }
  std::string folder_, path_;
};

TEST_F(Program, SaysItOnceForEachFile) {
  VersionCache cache;
  put("echo . >> " + folder_ + "/runs; echo version 1.5");
  EXPECT_EQ(*cache.of(path_), "1.5");
  EXPECT_EQ(*cache.of(path_), "1.5");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/runs"), 2u);
  put("echo . >> " + folder_ + "/runs; echo version 1.6.1");
  EXPECT_EQ(*cache.of(path_), "1.6.1");
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/runs"), 4u);
}

TEST_F(Program, ThatSaysNothingIsAnError) {
  VersionCache cache;
  HostReport report("microvm");
  put("exit 1");
  report_vmm(report, "qemu", path_, cache);
  EXPECT_EQ(report.probe()["usable"], false);
  EXPECT_NE(report.probe()["why_not"][0].get<std::string>().find(path_ + " --version says no version"), std::string::npos);
  EXPECT_EQ(cache.of(folder_ + "/none").error().code, ErrorCode::not_found);
  std::ofstream(folder_ + "/data") << "1.2";
  EXPECT_EQ(cache.of(folder_ + "/data").error().code, ErrorCode::failed_precondition);
}

TEST_F(Program, ThatIsSlowIsAWarning) {
  VersionCache cache(1);
  HostReport report("qemu");
  put("exec sleep 60");
  report_vmm(report, "qemu", path_, cache);
  const json found = report.probe();
  EXPECT_EQ(found["usable"], true) << found;
  EXPECT_EQ(found["facts"]["findings"][0]["level"], "warning");
  EXPECT_NE(found["facts"]["warnings"][0].get<std::string>().find(path_ + " --version said nothing within"), std::string::npos) << found;
}

}  // namespace
}  // namespace harena::vmm
