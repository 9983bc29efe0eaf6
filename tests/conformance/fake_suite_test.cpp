// The fake passes every case of the kit, linked in.

#include "sdk/conformance/gtest_suite.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_fake();

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  harena::conformance::register_suite("Fake", [] {
    return harena::conformance::Subject{.library = {}, .descriptor = harena_plugin_entry_fake(), .config = {{"state_dir", "{tmp}/fake"}}};
  });
  return RUN_ALL_TESTS();
}
