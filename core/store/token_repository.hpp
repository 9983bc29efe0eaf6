#pragma once
// TokenRepository: what is known of tokens, by the hash of their secret. A secret itself is never stored.

#include <string>
#include <vector>

#include "core/contracts/state_store.hpp"
#include "core/model/project.hpp"

namespace harena {

struct TokenRecord {
  std::string id;           ///< public: may be shown and logged
  std::string secret_hash;  ///< 64 hexadecimal digits (core/crypto/token_hash.hpp)
  std::string name;         ///< for people
  ProjectPath project = ProjectPath::root();
  std::vector<std::string> permissions;  ///< names; core/iam gives them their meaning
  std::string created_by;                ///< principal
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;           ///< wall clock; 0: never
};

/// For the store. The form for the API has no hash: see core/iam.
nlohmann::json to_json(const TokenRecord& record);
/// data_loss for what to_json can't have written.
Result<TokenRecord> token_from_json(const nlohmann::json& value);

/// Thread-safe, blocking.
class TokenRepository {
 public:
  /// `store` must outlive this.
  explicit TokenRepository(StateStore& store) : store_(store) {}

  /// already_exists when the hash is stored.
  Status create(const CallContext& call, const TokenRecord& record);
  /// All, by hash.
  Result<std::vector<TokenRecord>> load_all(const CallContext& call);
  /// ok when absent.
  Status remove(const CallContext& call, const std::string& secret_hash);

 private:
  StateStore& store_;
};

}  // namespace harena
