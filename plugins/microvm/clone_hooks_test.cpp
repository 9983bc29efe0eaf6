#include "plugins/microvm/clone_hooks.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "sdk/vmm/unix_listener.hpp"

namespace harena::microvm {
namespace {

using nlohmann::json;

/// Ten seconds: a hook's time, and what the host gives the guest to tell of its end.
TEST(CloneHooks, OfAGuestThatDoesntAnswerHoldNobodyUpForEver) {
  std::string folder = testing::TempDir() + "hooks-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  auto listener = vmm::listen_unix(folder + "/session.sock");  // connections to it are made, and nobody takes them
  ASSERT_TRUE(listener.ok()) << listener.error().message;
  int asked = 0;
  const auto check = [&] { return ++asked == 1 ? Status() : Status(make_error(ErrorCode::cancelled, "nobody waits")); };
  const auto told = run_clone_hooks(folder + "/session.sock", MachineConfig(), {"10-first", "../no-hook", "20-second"}, check);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(told.size(), 2u) << told.dump();
  EXPECT_EQ(told[0]["name"], "10-first");
  const auto why = told[0]["error"].get<std::string>();
  EXPECT_NE(why.find("the guest's answer about it took longer than 10000 ms"), std::string::npos) << told.dump();
  EXPECT_EQ(told[1]["error"], "it wasn't run: nobody waits");
  EXPECT_NE(failed_hooks(told).find("20-second: it wasn't run"), std::string::npos);
}

}  // namespace
}  // namespace harena::microvm
