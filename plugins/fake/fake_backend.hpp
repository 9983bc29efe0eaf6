#pragma once
// FakeBackend: a backend that does what it is told to. The core's tests drive it with scripted delays, failures and
// crashes; authors read it as the reference. Its sandboxes are files (sandbox_files.hpp), so that recovery and sweeps
// after a kill are real.
//
// Surprising: with `session: "host"` commands run on the host itself. Never enable the fake where others have access.

#include <memory>

#include "plugins/fake/exit_timer.hpp"
#include "plugins/fake/sandbox_files.hpp"
#include "plugins/fake/schemas.hpp"
#include "plugins/fake/script.hpp"
#include "sdk/cpp/plugin.hpp"

namespace harena::fake {

using plugin::Call;
using plugin::Host;
using plugin::json;

class FakeBackend final : public plugin::BackendPlugin {
 public:
  static constexpr plugin::Info kInfo{.licence = "Apache-2.0", .config_schema = kConfigSchema};
  static Result<std::unique_ptr<FakeBackend>> make(const Call& call, Host host, const json& config);
  FakeBackend(Host host, json config, SandboxFiles files);

  Result<json> describe(const Call& call) override;
  Result<json> probe(const Call& call) override;
  Result<json> create(const Call& call, const json& request) override;
  Result<json> recover(const Call& call, std::string_view sandbox_id, std::string_view state) override;
  Status stop(const Call& call, std::string_view sandbox_id, std::int64_t grace_ms) override;
  Result<json> sweep(const Call& call, const std::vector<std::string>& known_ids) override;
  Result<json> usage(const Call& call, std::string_view sandbox_id) override;
  Result<json> pause(const Call& call, std::string_view sandbox_id) override;
  Result<json> resume(const Call& call, std::string_view sandbox_id) override;
  Result<json> snapshot(const Call& call, std::string_view sandbox_id, const json& request) override;
  Result<json> restore(const Call& call, const json& request) override;
  Result<json> fork(const Call& call, std::string_view sandbox_id, const json& requests) override;
  Status rollback(const Call& call, std::string_view sandbox_id, std::string_view snapshot_state) override;
  bool has_verb(std::string_view verb) const override;

 private:
  // Plays the configuration's script, then the sandbox's own.
  Status play(const Call& call, std::string_view verb, std::string_view when, const std::string& id) const;
  // Makes the sandbox of `request` with `params`; undoes it when it fails.
  Result<json> make_sandbox(const Call& call, std::string_view verb, const json& request, const json& params);
  Result<json> fill_sandbox(const Call& call, std::string_view verb, const json& request, const json& params);
  Result<json> set_status(const Call& call, std::string_view verb, std::string_view id, const char* status);
  std::string mark_of(const std::string& id) const;
  void end_session(const std::string& id, const json& entry, std::int64_t grace_ms) const;
  Status check_capacity() const;
  void arm_exit(const std::string& id, const json& entry);
  void on_exit(const std::string& id);

  Host host_;
  json config_;
  SandboxFiles files_;
  Script script_;
  ExitTimer exits_;
};

}  // namespace harena::fake
