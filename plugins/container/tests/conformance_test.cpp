// harena-plugin-check on the real plugin with the real shim, as an operator would run it.

#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "plugins/container/tests/container_case.hpp"

namespace harena::container::testing {
namespace {

TEST(Conformance, TheKitPasses) {
  const std::string why = Backend::why_not();
  if (!why.empty()) GTEST_SKIP() << why;
  const char* build = std::getenv("HARENA_BUILD_DIR");
  if (build == nullptr) GTEST_SKIP() << "HARENA_BUILD_DIR isn't set (ctest sets it)";
  const std::string bin = std::string(build) + "/bin";
  const std::string request = ::testing::TempDir() + "container-kit-" + new_id() + ".json";
  const std::string instance = "kit-" + new_id().substr(1, 15);
  std::ofstream(request) << json{{"params", {{"memory", "64MiB"}}}, {"layers", {{{"digest", "sha256:kit"}, {"path", image_path()}, {"format", "erofs"}}}}}.dump();
  const std::string config = json{{"instance", instance}, {"launcher_path", bin + "/harena-container-launcher"}, {"shim_path", bin + "/harena-shim"}}.dump();
  const std::string command = bin + "/harena-plugin-check " + build + "/plugins/container/libharena_plugin_container.so --request " + request +
                              (std::getenv("HARENA_IN_TEST_VM") != nullptr ? " --patience 10" : "") + " --config '" + config + "' > " + request + ".log 2>&1";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << read_text(request + ".log");
  std::filesystem::remove(request);
  std::filesystem::remove(request + ".log");
  remove_instance(instance);
}

}  // namespace
}  // namespace harena::container::testing
