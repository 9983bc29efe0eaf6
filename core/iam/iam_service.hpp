#pragma once
// IamService: who calls, what they may, and the projects and tokens behind it. It decides; it has no network.
//
//   IamService iam(store, clock, random);
//   HARENA_TRY(auto outcome, iam.start(call, "/var/lib/harena/admin-token"));
//   HARENA_TRY(auto principal, iam.authenticate(header));
//   HARENA_TRY_STATUS(iam.authorize(principal, Permission::sandbox_create, spec.project));
//
// The surprising rule: delegation is bounded. A token never grants what its maker doesn't have, nor outside the
// maker's project, nor longer than the maker's own token lives.

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

#include "core/contracts/identity.hpp"
#include "core/contracts/state_store.hpp"
#include "core/iam/bootstrap.hpp"
#include "core/iam/directory.hpp"
#include "core/iam/quota.hpp"
#include "core/model/sandbox.hpp"
#include "core/store/project_repository.hpp"
#include "core/store/token_repository.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"

namespace harena {

inline constexpr std::size_t kMaxTokenName = 128;
/// A sandbox that has this label, with a frontend plugin's id, was made for that frontend.
inline constexpr const char* kFrontendLabel = "frontend";

struct TokenRequest {
  ProjectPath project = ProjectPath::root();
  std::vector<Permission> permissions;  ///< not empty
  std::string name;                     ///< for people; UTF-8, at most kMaxTokenName bytes
  std::int64_t expires_ms = 0;          ///< wall clock; 0: as long as the maker's token
  bool e2b_form = false;                ///< `e2b_` instead of `hrn_`
};

struct MintedToken {
  TokenRecord record;
  std::string secret;  ///< shown once, stored nowhere
};

/// {id, name, project, permissions, created_by, created_ms, expires_ms}: never the hash.
nlohmann::json to_public_json(const TokenRecord& record);
/// {path, created_ms, created_by, limits}.
nlohmann::json to_public_json(const ProjectRecord& record);

/// The core's own principal: `system`, all permissions on the root.
Principal system_principal();

/// Thread-safe. authenticate, authorize, find_* and list_* never wait for I/O; what takes a CallContext writes to the
/// store and blocks: worker threads only. A list has 1 to 1,000 entries (listing.hpp); it is at its end when it is
/// shorter than `limit`.
class IamService final : public Authenticator {
 public:
  /// True when sandboxes live in exactly this project or below it. Called by remove_project, which holds a lock: it
  /// must not call what changes projects or tokens.
  using HasSandboxes = std::function<bool(const ProjectPath&)>;

  /// All must outlive this.
  IamService(StateStore& store, Clock& clock, RandomSource& random);

  /// Bootstraps (bootstrap.hpp) and loads everything. Call it once, before any other method.
  Result<BootstrapOutcome> start(const CallContext& call, const std::filesystem::path& admin_token_file);
  /// Until it is set projects are removed without asking. Not thread-safe: set it during the start.
  void set_sandbox_check(HasSandboxes check) { has_sandboxes_ = std::move(check); }

  Result<Principal> authenticate(std::string_view credential) override;
  Status authorize(const Principal& principal, Permission permission, const ProjectPath& project) override;

  /// A credential with which the frontend `plugin` reads and uses one sandbox (empty: lists those of its own), see
  /// sdk/abi/frontend.h. Good in this process alone. Never blocks. invalid_argument for what is no sandbox id.
  Result<std::string> act_for(const std::string& plugin, const std::string& sandbox_id) const;
  /// What a principal of act_for() may do to `sandbox`: read or use it, if it is the one that the principal names, was made
  /// for that frontend, and its creator's token still could. not_found otherwise.
  Status authorize_frontend(const Principal& principal, Permission permission, const Sandbox& sandbox) const;
  /// 64 hexadecimal digits, derived from a key of the installation. Never blocks.
  Result<std::string> frontend_secret(const std::string& plugin, const std::string& purpose) const;

  // Every method below authorises `principal` itself.

  /// Needs token_write on the project. permission_denied names what the maker lacks; invalid_argument for no
  /// permissions, a past or over-long expiry, a bad name; not_found for an unknown project.
  Result<MintedToken> create_token(const CallContext& call, const Principal& principal, const TokenRequest& request);
  /// Needs token_write on its project; not_found for an unknown id, also when the caller may not see it. Idempotent
  /// for a token that expired; a revoked one is unknown.
  Status revoke_token(const CallContext& call, const Principal& principal, const std::string& id);
  /// Of the project and everything below it, by id, after `cursor`; needs token_write there.
  Result<std::vector<TokenRecord>> list_tokens(const Principal& principal, const ProjectPath& project,
                                               const std::string& cursor, std::int64_t limit) const;

  /// Needs project_write on the parent, which must exist. already_exists.
  Result<ProjectRecord> create_project(const CallContext& call, const Principal& principal, const ProjectPath& path,
                                       const QuotaLimits& limits);
  /// Needs project_write on the parent: nobody lifts the limits of his own project. invalid_argument for negative ones.
  Result<ProjectRecord> set_limits(const CallContext& call, const Principal& principal, const ProjectPath& path,
                                   const QuotaLimits& limits);
  /// Needs project_read.
  Result<ProjectRecord> find_project(const Principal& principal, const ProjectPath& path) const;
  /// The project and everything below it, by path, after `cursor`; needs project_read there.
  Result<std::vector<ProjectRecord>> list_projects(const Principal& principal, const ProjectPath& project,
                                                   const std::string& cursor, std::int64_t limit) const;
  /// Needs project_write on the parent. failed_precondition when children or sandboxes exist (names one child).
  /// Its tokens are revoked first. invalid_argument for the root.
  Status remove_project(const CallContext& call, const Principal& principal, const ProjectPath& path);

  /// Knows the limits of all projects.
  QuotaLedger& quotas() { return quotas_; }

 private:
  using DirectoryPtr = std::shared_ptr<const Directory>;
  DirectoryPtr picture() const;
  /// Copies the picture, lets `change` work on the copy and publishes it. The caller holds write_mutex_.
  void publish(const std::function<void(Directory&)>& change);
  Status authorize_in(const Directory& directory, const Principal& principal, Permission permission,
                      const ProjectPath& project) const;
  Status check_delegation(const Principal& principal, const TokenRequest& request) const;
  Result<std::int64_t> bounded_expiry(const Principal& principal, std::int64_t wanted_ms) const;
  Status check_removable(const ProjectPath& path) const;
  Status remove_tokens_of(const CallContext& call, const ProjectPath& path);

  Result<Principal> authenticate_frontend(std::string_view credential) const;

  StateStore& store_;
  Clock& clock_;
  RandomSource& random_;
  ProjectRepository projects_;
  TokenRepository tokens_;
  QuotaLedger quotas_;
  HasSandboxes has_sandboxes_;
  const std::string process_key_;  // of act_for(): gone with the process
  std::string frontend_key_;       // of frontend_secret(); set by start()
  std::mutex write_mutex_;                   // one change at a time: store first, then the picture
  mutable std::shared_mutex picture_mutex_;  // only around the pointer
  DirectoryPtr picture_ = std::make_shared<const Directory>();
};

}  // namespace harena
