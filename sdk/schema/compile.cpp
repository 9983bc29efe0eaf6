#include <array>
#include <functional>

#include "sdk/base/text.hpp"
#include "sdk/schema/node.hpp"

namespace harena::schema {
namespace {

constexpr std::array<std::string_view, 7> kTypes = {"null", "boolean", "object", "array", "number", "string", "integer"};

Error bad(const std::string& place, std::string message) {
  return make_error(ErrorCode::invalid_argument,
                    "schema at " + (place.empty() ? std::string("the top") : place) + ": " + std::move(message));
}

// Where a keyword is compiled: its node, its value, its place in the schema.
struct Keyword {
  Node& node;
  const json& value;
  std::string place;
  std::size_t depth;
};
using Compile = std::function<Status(const Keyword&)>;

Status annotation(const Keyword&) { return ok_status(); }

Status compile_type(const Keyword& k) {
  const json names = k.value.is_array() ? k.value : json::array({k.value});
  for (const auto& name : names) {
    bool known = name.is_string() && std::ranges::find(kTypes, name.get_ref<const std::string&>()) != kTypes.end();
    if (!known) return bad(k.place, shown(name) + " isn't a type; null, boolean, object, array, number, string, integer are");
    k.node.types.push_back(name);
  }
  if (names.empty()) return bad(k.place, "an empty list of types accepts nothing");
  return ok_status();
}

Compile count(std::optional<std::uint64_t> Node::*member) {
  return [member](const Keyword& k) -> Status {
    if (!k.value.is_number_unsigned()) return bad(k.place, shown(k.value) + " isn't a non-negative integer");
    k.node.*member = k.value.get<std::uint64_t>();
    return ok_status();
  };
}

Compile number(std::optional<json> Node::*member) {
  return [member](const Keyword& k) -> Status {
    if (!k.value.is_number()) return bad(k.place, shown(k.value) + " isn't a number");
    k.node.*member = k.value;
    return ok_status();
  };
}

Compile subschema(NodePtr Node::*member) {
  return [member](const Keyword& k) -> Status {
    HARENA_TRY(k.node.*member, compile_node(k.value, k.place, k.depth + 1));
    return ok_status();
  };
}

Compile subschemas(std::vector<NodePtr> Node::*member) {
  return [member](const Keyword& k) -> Status {
    if (!k.value.is_array() || k.value.empty()) return bad(k.place, "a list of at least one schema is right");
    for (std::size_t i = 0; i < k.value.size(); ++i) {
      HARENA_TRY(NodePtr part, compile_node(k.value[i], k.place + "/" + std::to_string(i), k.depth + 1));
      (k.node.*member).push_back(std::move(part));
    }
    return ok_status();
  };
}

Status compile_multiple_of(const Keyword& k) {
  if (!k.value.is_number() || k.value <= 0) return bad(k.place, shown(k.value) + " isn't a number above 0");
  k.node.multiple_of = k.value;
  return ok_status();
}

Status compile_pattern(const Keyword& k) {
  if (!k.value.is_string()) return bad(k.place, shown(k.value) + " isn't a string");
  try {
    std::string text = k.value;
    k.node.pattern = Pattern{text, std::regex(text, std::regex::ECMAScript | std::regex::optimize)};
    return ok_status();
  } catch (const std::regex_error& e) {
    return bad(k.place, shown(k.value) + " isn't a regular expression: " + e.what());
  }
}

Status compile_properties(const Keyword& k) {
  if (!k.value.is_object()) return bad(k.place, "an object of schemas is right");
  for (const auto& [name, part] : k.value.items()) {
    HARENA_TRY(k.node.properties[name], compile_node(part, k.place + "/" + name, k.depth + 1));
  }
  return ok_status();
}

Status compile_required(const Keyword& k) {
  if (!k.value.is_array()) return bad(k.place, "a list of names is right");
  for (const auto& name : k.value) {
    if (!name.is_string()) return bad(k.place, shown(name) + " isn't a name");
    k.node.required.push_back(name);
  }
  return ok_status();
}

Status compile_enum(const Keyword& k) {
  if (!k.value.is_array() || k.value.empty()) return bad(k.place, "a list of at least one value is right");
  k.node.allowed = k.value.get<std::vector<json>>();
  return ok_status();
}

Status compile_const(const Keyword& k) { return k.node.constant = k.value, ok_status(); }
Status compile_default(const Keyword& k) { return k.node.default_value = k.value, ok_status(); }

Compile flag(bool Node::*member) {
  return [member](const Keyword& k) -> Status {
    if (!k.value.is_boolean()) return bad(k.place, shown(k.value) + " isn't true or false");
    k.node.*member = k.value;
    return ok_status();
  };
}

Status compile_title(const Keyword& k) {
  if (!k.value.is_string()) return bad(k.place, shown(k.value) + " isn't a string");
  k.node.title = k.value;
  return ok_status();
}

const std::map<std::string, Compile>& keywords() {
  static const std::map<std::string, Compile> table = {
      {"$schema", annotation}, {"$id", annotation}, {"$comment", annotation}, {"description", annotation},
      {"examples", annotation}, {"deprecated", annotation}, {"readOnly", annotation}, {"format", annotation},
      {"title", compile_title}, {"writeOnly", flag(&Node::hidden)}, {"default", compile_default},
      {"type", compile_type}, {"enum", compile_enum}, {"const", compile_const},
      {"minimum", number(&Node::minimum)}, {"maximum", number(&Node::maximum)},
      {"exclusiveMinimum", number(&Node::exclusive_minimum)}, {"exclusiveMaximum", number(&Node::exclusive_maximum)},
      {"multipleOf", compile_multiple_of}, {"pattern", compile_pattern},
      {"minLength", count(&Node::min_length)}, {"maxLength", count(&Node::max_length)},
      {"items", subschema(&Node::items)}, {"uniqueItems", flag(&Node::unique_items)},
      {"minItems", count(&Node::min_items)}, {"maxItems", count(&Node::max_items)},
      {"properties", compile_properties}, {"required", compile_required},
      {"additionalProperties", subschema(&Node::additional)}, {"propertyNames", subschema(&Node::property_names)},
      {"minProperties", count(&Node::min_properties)}, {"maxProperties", count(&Node::max_properties)},
      {"oneOf", subschemas(&Node::one_of)}, {"anyOf", subschemas(&Node::any_of)}};
  return table;
}

Status compile_keyword(Node& node, const std::string& name, const json& value, const std::string& place,
                       std::size_t depth) {
  if (name.starts_with("x-")) return ok_status();
  auto found = keywords().find(name);
  if (found != keywords().end()) return found->second(Keyword{node, value, place + "/" + name, depth});
  std::vector<std::string> known;
  for (const auto& entry : keywords()) known.push_back(entry.first);
  auto near = nearest(name, known);
  return bad(place, "the keyword '" + name + "' isn't supported" + (near ? ", did you mean '" + *near + "'?" : ""));
}

// A default that is invalid would make every configuration without that key fail.
Status check_default(const Node& node, const std::string& place) {
  if (!node.default_value) return ok_status();
  std::vector<Problem> problems;
  json value = *node.default_value;
  check_node(node, value, "default", false, problems);
  return problems.empty() ? ok_status() : Status(bad(place, problems.front().text()));
}

}  // namespace

Result<NodePtr> compile_node(const json& document, const std::string& place, std::size_t depth) {
  auto node = std::make_shared<Node>();
  if (document.is_boolean()) {
    node->accepts_nothing = !document.get<bool>();
    return NodePtr(node);
  }
  if (!document.is_object()) return bad(place, shown(document) + " isn't a schema; an object, true or false is right");
  if (depth > kMaxSchemaDepth) return bad(place, "nested deeper than " + std::to_string(kMaxSchemaDepth));
  for (const auto& [name, value] : document.items()) {
    HARENA_TRY_STATUS(compile_keyword(*node, name, value, place, depth));
  }
  HARENA_TRY_STATUS(check_default(*node, place));
  return NodePtr(node);
}

}  // namespace harena::schema
