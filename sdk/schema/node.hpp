#pragma once
// A compiled schema: private to this room.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "sdk/schema/schema.hpp"

namespace harena::schema {

struct Node;
using NodePtr = std::shared_ptr<const Node>;

struct Pattern {
  std::string text;
  std::regex regex;
};

struct Node {
  bool accepts_nothing = false;   // the boolean schema `false`
  bool hidden = false;            // writeOnly: values aren't shown
  std::string title;              // for messages about forms
  std::vector<std::string> types; // empty: any
  std::optional<json> default_value;

  std::optional<std::vector<json>> allowed;  // enum
  std::optional<json> constant;
  std::optional<json> minimum, maximum, exclusive_minimum, exclusive_maximum, multiple_of;

  std::optional<std::uint64_t> min_length, max_length;
  std::optional<Pattern> pattern;

  NodePtr items;
  std::optional<std::uint64_t> min_items, max_items;
  bool unique_items = false;

  std::map<std::string, NodePtr> properties;
  std::vector<std::string> required;
  NodePtr additional;             // null: anything goes
  NodePtr property_names;
  std::optional<std::uint64_t> min_properties, max_properties;

  std::vector<NodePtr> one_of, any_of;
};

/// Compiles; the error's message begins with `place`, a JSON pointer into the schema.
Result<NodePtr> compile_node(const json& document, const std::string& place, std::size_t depth);

/// Appends what is wrong with `value`. When `fill`, defaults are put into `value`.
void check_node(const Node& node, json& value, const std::string& path, bool fill, std::vector<Problem>& out);

/// A value for a message: short, valid UTF-8.
std::string shown(const json& value);

}  // namespace harena::schema
