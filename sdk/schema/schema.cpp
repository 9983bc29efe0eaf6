#include "sdk/schema/schema.hpp"

#include <algorithm>

#include "sdk/schema/node.hpp"

namespace harena::schema {
namespace {

constexpr std::size_t kMostProblemsShown = 5;

Error problems_error(const std::vector<Problem>& problems) {
  std::string text;
  for (std::size_t i = 0; i < std::min(problems.size(), kMostProblemsShown); ++i) {
    text += (i > 0 ? "; " : "") + problems[i].text();
  }
  if (problems.size() > kMostProblemsShown) {
    text += "; and " + std::to_string(problems.size() - kMostProblemsShown) + " more";
  }
  return make_error(ErrorCode::invalid_argument, std::move(text));
}

}  // namespace

Result<Schema> Schema::compile(const json& document) {
  HARENA_TRY(NodePtr node, compile_node(document, "", 0));
  Schema schema;
  schema.document_ = std::make_shared<const json>(document);
  schema.node_ = std::move(node);
  return schema;
}

Result<Schema> Schema::parse(std::string_view text) {
  try {
    return compile(json::parse(text));
  } catch (const json::parse_error& e) {
    return make_error(ErrorCode::invalid_argument, std::string("the schema isn't JSON: ") + e.what());
  }
}

std::vector<Problem> Schema::problems(const json& value, std::string_view root) const {
  json copy = value;
  std::vector<Problem> problems;
  check_node(*node_, copy, std::string(root), false, problems);
  return problems;
}

Result<json> Schema::apply(json value, std::string_view root) const {
  std::vector<Problem> problems;
  check_node(*node_, value, std::string(root), true, problems);
  if (!problems.empty()) return problems_error(problems);
  return value;
}

Status Schema::validate(const json& value, std::string_view root) const {
  auto found = problems(value, root);
  return found.empty() ? ok_status() : Status(problems_error(found));
}

}  // namespace harena::schema
