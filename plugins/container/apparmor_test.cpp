// The profile as text: what it says, and that the parser takes it. That the kernel enforces it is tested where one has AppArmor (tests/system).

#include "plugins/container/apparmor.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace harena::container {
namespace {

namespace fs = std::filesystem;

TEST(Apparmor, ModesByName) {
  EXPECT_EQ(apparmor_mode("auto").value(), ApparmorMode::automatic);
  EXPECT_EQ(apparmor_mode("required").value(), ApparmorMode::required);
  EXPECT_EQ(apparmor_mode("off").value(), ApparmorMode::off);
  EXPECT_EQ(apparmor_mode("on").error().code, ErrorCode::invalid_argument);
}

TEST(Apparmor, ProfileNamesItselfAndDeniesWhatIsMasked) {
  const std::string text = apparmor_profile_text(apparmor_profile_name("edge-1"));
  for (const char* line : {"profile harena-edge-1 flags=(attach_disconnected", "deny mount,", "deny /proc/kcore rwklmx,", "deny /proc/kpagecgroup ",
                           "deny /sys/kernel/debug/** rwklmx,", "deny /proc/sys/** wklx,", "peer=harena-edge-1,", "signal (receive) peer=unconfined,"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << " isn't in:\n" << text;
  }
}

TEST(Apparmor, TheParserTakesIt) {
  if (::access("/usr/sbin/apparmor_parser", X_OK) != 0) GTEST_SKIP() << "apparmor_parser isn't installed (apt-get install apparmor)";
  char pattern[] = "/tmp/harena-apparmor-XXXXXX";
  const fs::path folder = ::mkdtemp(pattern);
  std::ofstream(folder / "profile") << apparmor_profile_text("harena-test");
  const std::string command = "/usr/sbin/apparmor_parser --skip-kernel-load --skip-cache --quiet " + (folder / "profile").string() + " 2>&1";
  FILE* parser = ::popen(command.c_str(), "r");
  ASSERT_NE(parser, nullptr);
  std::string said(4096, '\0');
  said.resize(::fread(said.data(), 1, said.size(), parser));
  EXPECT_EQ(::pclose(parser), 0) << said;
  fs::remove_all(folder);
}

TEST(Apparmor, KernelByItsParameter) {
  char pattern[] = "/tmp/harena-apparmor-XXXXXX";
  const fs::path root = ::mkdtemp(pattern);
  EXPECT_FALSE(kernel_has_apparmor(root));
  fs::create_directories(root / "sys/module/apparmor/parameters");
  std::ofstream(root / "sys/module/apparmor/parameters/enabled") << "N\n";
  EXPECT_FALSE(kernel_has_apparmor(root));
  std::ofstream(root / "sys/module/apparmor/parameters/enabled") << "Y\n";
  EXPECT_TRUE(kernel_has_apparmor(root));
  fs::remove_all(root);
}

TEST(Apparmor, WhereTheKernelHasNone) {
  if (kernel_has_apparmor()) GTEST_SKIP() << "this kernel has AppArmor";
  EXPECT_EQ(prepare_apparmor(ApparmorMode::automatic, "x").value(), "");
  EXPECT_EQ(prepare_apparmor(ApparmorMode::off, "x").value(), "");
  EXPECT_EQ(prepare_apparmor(ApparmorMode::required, "x").error().code, ErrorCode::failed_precondition);
}

}  // namespace
}  // namespace harena::container
