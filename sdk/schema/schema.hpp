#pragma once
// JSON Schema 2020-12, the part that Harena's own documents need: plugin configurations, create parameters, harenad's
// configuration. A keyword outside that part is refused when the schema is compiled, never ignored, since a rule that
// nobody checks is worse than none.
//
//   HARENA_TRY(auto schema, Schema::compile(document));
//   HARENA_TRY(json params, schema.apply(request["params"], "params"));   // validated, defaults filled in
//
// A message names the path, the value, and what would be right, with the nearest key for an unknown one:
//   params.memroy_mib isn't known, did you mean 'memory_mib'?
//   params.cpu is -1; at least 0.1 is right
//
// Checked: type, enum, const, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength,
// pattern, items, minItems, maxItems, uniqueItems, properties, required, additionalProperties, propertyNames,
// minProperties, maxProperties, oneOf, anyOf; boolean schemas. Annotations: $schema, $id, $comment, title, description,
// default, examples, deprecated, readOnly, writeOnly (its value isn't shown in messages), format, x-*.
//
// Stricter than the standard: integers lie in 64 bits with a sign (2.0 counts as 2 and becomes it); a string that meets
// `pattern` has at most kMaxPatternInput bytes, as std::regex recurses by character; a default must be valid.

#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::schema {

using json = nlohmann::json;

inline constexpr std::size_t kMaxPatternInput = 1024;
inline constexpr std::size_t kMaxSchemaDepth = 64;

/// One thing that is wrong with a value.
struct Problem {
  std::string path;     // "params.mounts[2].target"
  std::string message;  // "is 7; a string is right"
  std::string text() const { return path.empty() ? message : path + " " + message; }
};

struct Node;

/// Immutable; cheap to copy; thread-safe.
class Schema {
 public:
  /// invalid_argument names the place in the schema and the keyword that is unsupported or malformed.
  static Result<Schema> compile(const json& document);
  /// The same from text; the error names line and column when it isn't JSON.
  static Result<Schema> parse(std::string_view text);

  /// All problems of `value`; empty when it is valid. `root` is what paths begin with.
  std::vector<Problem> problems(const json& value, std::string_view root = "") const;
  /// `value` with defaults filled in for absent properties (also inside given objects); invalid_argument with up to
  /// five problems otherwise.
  Result<json> apply(json value, std::string_view root = "") const;
  Status validate(const json& value, std::string_view root = "") const;

  const json& document() const { return *document_; }

 private:
  std::shared_ptr<const json> document_;
  std::shared_ptr<const Node> node_;
};

}  // namespace harena::schema
