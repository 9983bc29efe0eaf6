#pragma once
// The tools that there are: names, what they are for, the schemas of what they take and answer.

#include <string>
#include <vector>

#include "plugins/mcp/tools/tool.hpp"
#include "sdk/schema/schema.hpp"

namespace harena::mcp {

struct Tool {
  std::string name;
  nlohmann::json listing;  ///< as tools/list shows it
  schema::Schema arguments;
  ToolFunction run;
};

/// Immutable, thread-safe.
class Catalog {
 public:
  /// An error is a mistake of ours in a schema.
  static Result<Catalog> make();
  /// Null: there is no such tool.
  const Tool* find(std::string_view name) const;
  /// In the order of the catalog, which never changes.
  nlohmann::json listing() const;
  /// "create, run, ...".
  std::string names() const;

 private:
  std::vector<Tool> tools_;
};

}  // namespace harena::mcp
