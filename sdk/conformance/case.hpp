#pragma once
// What a case of the kit is, and what it has at hand. A case is a function that throws Failed or Skipped, or returns;
// it runs in a process of its own (runner.hpp), so it may load, crash and hang as it likes.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/random.hpp"
#include "sdk/conformance/drivers.hpp"
#include "sdk/conformance/host_double.hpp"
#include "sdk/loader/library.hpp"

namespace harena::conformance {

struct Failed {
  std::string message;
};
/// Only for what the plugin itself declares (a verb that it lacks, an unusable host), or for a host that lacks something.
struct Skipped {
  std::string reason;
};

/// What is checked: a plugin's folder (or one that is linked in), and how to use it.
struct Subject {
  std::filesystem::path library;                         // the .so; empty: linked in
  const harena_plugin_descriptor* descriptor = nullptr;  // of a linked-in one
  /// Texts "{tmp}" in it become the case's own temporary folder.
  json config = json::object();
  /// harena-attack, for level 3; empty: those cases are skipped.
  std::filesystem::path attack_program;
  /// What create requests hold beside ids and folders: params, layers, image_config, env, labels.
  json request = json::object();
  /// Every case's limit is so many times longer: for a machine that is emulated, or has much else to do.
  int patience = 1;

  std::filesystem::path folder() const { return library.parent_path(); }
};

class Context {
 public:
  Context(const Subject& subject, std::filesystem::path tmp) : subject_(subject), tmp_(std::move(tmp)) {}

  const Subject& subject() const { return subject_; }
  const std::filesystem::path& tmp() const { return tmp_; }
  HostDouble& host() { return host_; }

  [[noreturn]] void fail(std::string message) const { throw Failed{std::move(message)}; }
  [[noreturn]] void skip(std::string reason) const { throw Skipped{std::move(reason)}; }
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  const std::vector<std::string>& warnings() const { return warnings_; }
  void require(bool holds, std::string_view message) const {
    if (!holds) fail(std::string(message));
  }

  /// The value, or the case fails with `what` and the error.
  template <class T>
  T need(Result<T> result, std::string_view what) const {
    if (!result.ok()) fail(std::string(what) + ": " + result.error().describe());
    return std::move(result).value();
  }
  void need_ok(const Status& status, std::string_view what) const {
    if (!status.ok()) fail(std::string(what) + ": " + status.error().describe());
  }
  /// The case fails unless `result` failed with `code`.
  template <class T>
  Error need_error(Result<T> result, ErrorCode code, std::string_view what) const {
    if (result.ok()) fail(std::string(what) + " succeeded; " + std::string(to_string(code)) + " is right");
    if (result.error().code != code) {
      fail(std::string(what) + " failed with " + result.error().describe() + "; " + std::string(to_string(code)) + " is right");
    }
    return std::move(result).error();
  }

  /// Loads the plugin (once), without the checks before dlopen: level 0 makes those.
  const loader::Library& library();
  bool has_contract(std::string_view id);
  json config() const;
  /// A new instance, as after a restart of the host.
  std::unique_ptr<loader::Instance> instance();

  /// 20 characters, as the core makes them.
  std::string new_id() { return random_.base36(20); }
  /// A create request with folders of its own.
  json request(const std::string& id) const;

 private:
  const Subject& subject_;
  std::filesystem::path tmp_;
  HostDouble host_;
  std::shared_ptr<const loader::Library> library_;
  SystemRandom random_;
  std::vector<std::string> warnings_;
};

struct Case {
  std::string name;
  int level;
  std::string contract;  // empty: any plugin; else skipped when the plugin doesn't have it
  std::string promise;   // one sentence: what holds when it passes
  std::function<void(Context&)> body;
  int timeout_s = 60;
};

/// All cases in the order of their levels.
const std::vector<Case>& all_cases();
/// Those up to `level` for any plugin and for the contracts that the subject's manifest (or descriptor) lists; all
/// contracts' when it can't be read.
std::vector<Case> applicable_cases(const Subject& subject, int level);

std::vector<Case> file_cases();         // level 0
std::vector<Case> load_cases();         // level 1
std::vector<Case> instance_cases();     // level 1
std::vector<Case> config_cases();       // level 1
std::vector<Case> backend_cases();      // level 2, from here on
std::vector<Case> backend_call_cases();
std::vector<Case> backend_verb_cases();
std::vector<Case> backend_crash_cases();
std::vector<Case> container_cases();
std::vector<Case> incident_cases();     // level 3
std::vector<Case> image_store_cases();
std::vector<Case> image_store_crash_cases();
std::vector<Case> state_store_cases();
std::vector<Case> state_store_watch_cases();
std::vector<Case> frontend_cases();

}  // namespace harena::conformance
