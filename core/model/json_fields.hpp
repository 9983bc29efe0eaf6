#pragma once
// Reading a JSON object strictly: every key is known, every value has its type and range, every error names both.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena {

/// Reads named members of one object; finish() refuses those that nobody read.
///
///     JsonFields fields(body, "the request");
///     HARENA_TRY(auto name, fields.string("name", ""));
///     HARENA_TRY_STATUS(fields.finish());
///
/// An absent or null member gives the fallback. Not thread-safe.
class JsonFields {
 public:
  /// `what` begins the messages. The object must outlive this.
  JsonFields(const nlohmann::json& object, std::string what);

  Result<std::string> string(const std::string& key, std::string fallback);
  Result<std::int64_t> integer(const std::string& key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  Result<bool> boolean(const std::string& key, bool fallback);
  Result<std::vector<std::string>> strings(const std::string& key);
  Result<std::map<std::string, std::string>> string_map(const std::string& key);
  /// An object as it is; {} when absent.
  Result<nlohmann::json> object(const std::string& key);
  bool has(const std::string& key) const;

  /// invalid_argument for a body that isn't an object or has a key that wasn't read ("did you mean ...").
  Status finish() const;

 private:
  const nlohmann::json* find(const std::string& key);
  Error wrong(const std::string& key, const nlohmann::json& value, const std::string& right) const;

  const nlohmann::json& object_;
  std::string what_;
  std::set<std::string> known_;
};

}  // namespace harena
