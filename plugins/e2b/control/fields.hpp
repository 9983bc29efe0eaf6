#pragma once
// Fields: reading E2B's request objects. Types are checked; what isn't known is ignored and counted, for the SDKs add fields
// every few weeks.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plugins/e2b/counters.hpp"
#include "sdk/base/result.hpp"

namespace harena::e2b {

/// An absent or null member is nullopt. Errors are invalid_argument, which name the member, its value and what would be right.
///
///     Fields fields(body, counters, "create");
///     HARENA_TRY(const auto timeout, fields.integer("timeout"));
///     fields.done();
class Fields {
 public:
  /// `prefix` of a nested object: "network.". The object must outlive this.
  Fields(const nlohmann::json& object, Counters& counters, std::string operation, std::string prefix = {})
      : object_(object), counters_(counters), operation_(std::move(operation)), prefix_(std::move(prefix)) {}

  Result<std::optional<std::string>> text(const char* key);
  Result<std::optional<std::int64_t>> integer(const char* key);
  Result<std::optional<bool>> boolean(const char* key);
  Result<std::optional<std::map<std::string, std::string>>> text_map(const char* key);
  Result<std::vector<std::string>> texts(const char* key);
  /// Null when absent; the member must be an object (array).
  Result<nlohmann::json> object(const char* key);
  Result<nlohmann::json> array(const char* key);
  /// Counts what nobody read.
  void done() const;

 private:
  const nlohmann::json* find(const char* key);
  Error wrong(const char* key, const nlohmann::json& value, const char* right) const;

  const nlohmann::json& object_;
  Counters& counters_;
  std::string operation_;
  std::string prefix_;
  std::set<std::string> known_;
};

}  // namespace harena::e2b
