#pragma once
// A store in a temporary folder, made and made again as by a host that restarts.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "sdk/conformance/drivers.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_statestore_sqlite();

namespace harena::sqlite {

using conformance::StateStoreDriver;
using nlohmann::json;

inline Result<std::unique_ptr<loader::Instance>> make_instance(const json& config) {
  HARENA_TRY(auto library, loader::Library::from_descriptor(harena_plugin_entry_statestore_sqlite()));
  return library->create(nullptr, config);
}

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = testing::TempDir() + "harena-sqlite-XXXXXX";
    dir = ::mkdtemp(pattern.data());
    path = dir + "/state.db";
  }
  ~StoreTest() override {
    instance.reset();
    std::filesystem::remove_all(dir);
  }
  void start(json config = json::object()) {
    driver.reset();
    instance.reset();
    if (!config.contains("path")) config["path"] = path;
    auto made = make_instance(config);
    ASSERT_TRUE(made.ok()) << made.error().describe();
    instance = *std::move(made);
    driver.emplace(*StateStoreDriver::of(*instance));
  }
  Error start_error(json config = json::object()) {
    instance.reset();
    if (!config.contains("path")) config["path"] = path;
    auto made = make_instance(config);
    return made.ok() ? make_error(ErrorCode::ok, "(started)") : made.error();
  }

  std::string dir, path;
  std::unique_ptr<loader::Instance> instance;
  std::optional<StateStoreDriver> driver;
};

}  // namespace harena::sqlite
