#pragma once
// What the root tests of this room share: a plugin instance driven through the C ABI, a tiny EROFS image of busybox, and a
// way to run commands in a sandbox (tests/probe_shim.cpp).

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/abi/backend.h"
#include "sdk/abi/backend_container.h"
#include "sdk/abi/plugin.h"

namespace harena::container::testing {

using nlohmann::json;

/// Outcome of a call over the ABI.
struct Outcome {
  harena_status status = HARENA_OK;
  json result;
  std::string message;
  int cause = 0;
  std::string cause_detail;
};

struct CommandResult {
  std::string output;
  int exit = -1;
};

/// One loaded plugin with its own instance name, cgroups and folders; all of it is gone when it ends.
class Backend {
 public:
  /// Empty when this host can run containers, else the sentence to skip with.
  static std::string why_not();

  explicit Backend(json config = json::object());
  ~Backend();

  /// From now on requests name the image by this digest.
  void use_image(std::string digest) { digest_ = std::move(digest); }
  Outcome create(const std::string& id, json params = json::object(), std::int64_t deadline_ns = 0);
  /// Children with these ids, made ready for as create does it.
  Outcome fork(const std::string& id, const std::vector<std::string>& children, json params = json::object());
  /// `name`'s folder is made; its result's state is what restore and rollback want.
  Outcome snapshot(const std::string& id, const std::string& name);
  Outcome restore(const std::string& id, const std::string& state, json params = json::object());
  Outcome rollback(const std::string& id, const std::string& state);
  /// As the core deletes a snapshot: its folder, then a word to the backend.
  Outcome drop_snapshot(const std::string& name);
  std::filesystem::path layers() const { return folder_ / "state" / ".container-layers"; }
  Outcome stop(const std::string& id, std::int64_t grace_ms = 0);
  /// The first stop alone: what isn't a process may still be there when it returns.
  Outcome stop_processes(const std::string& id, std::int64_t grace_ms = 0);
  Outcome pause(const std::string& id);
  Outcome resume(const std::string& id);
  Outcome usage(const std::string& id);
  /// Both whole, as the core gives them.
  Outcome resize(const std::string& id, const json& before, const json& after);
  Outcome sweep(const std::vector<std::string>& known);
  Outcome recover(const std::string& id, const std::string& state);
  Outcome probe();
  /// Waits until so many sandboxes are prepared (20 s at most, then the test fails).
  void await_blanks(int count);
  /// Until the pool is as full as it gets, so that what it is making isn't counted; at once without one.
  void await_pool() { await_blanks(pool_); }
  /// What a killed daemon leaves: the instance is forgotten without a word to anybody, and a new one made.
  void restart();

  CommandResult run(const std::string& id, const std::vector<std::string>& argv);
  CommandResult shell(const std::string& id, const std::string& text) { return run(id, {"sh", "-c", text}); }
  /// Starts it and doesn't wait; the connection.
  int start(const std::string& id, const std::vector<std::string>& argv);

  const std::string& instance() const { return instance_; }
  std::filesystem::path folder() const { return folder_; }
  std::filesystem::path state_dir(const std::string& id) const { return folder_ / "state" / id; }
  pid_t launcher_pid() const;
  std::vector<json> events() const {
    std::lock_guard lock(events_mutex_);
    return events_;
  }
  std::size_t event_count() const { return events().size(); }
  void remove_folders(const std::string& id);

 private:
  void warm_up();
  Outcome create_now(const std::string& id, json params, std::int64_t deadline_ns);
  int pool_ = 0;
  std::mutex warming_;
  void load();
  json request_for(const std::string& id, json params);
  Outcome call(const std::function<harena_status(const harena_call*)>& body, std::int64_t deadline_ns = 0);
  static harena_str view(const std::string& text) { return {text.data(), text.size()}; }

  std::string instance_;
  std::string digest_ = "sha256:test";
  std::filesystem::path folder_;
  json config_;
  harena_host host_{};
  void* plugin_ = nullptr;
  const harena_backend* table_ = nullptr;
  const harena_backend_container* container_table_ = nullptr;
  mutable std::mutex events_mutex_;
  std::vector<json> events_;
};

/// 20 characters, different in every process and call.
std::string new_id();
/// The image; made once a process. Empty path when mkfs.erofs or busybox is missing.
std::string image_path();
/// The cgroups of an instance, when nothing of it lives any more.
void remove_instance(const std::string& instance);
std::string read_text(const std::filesystem::path& path);

}  // namespace harena::container::testing
