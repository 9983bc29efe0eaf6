#include "core/pluginhost/backend_description.hpp"

#include <algorithm>

#include "core/model/project.hpp"

namespace harena {

using nlohmann::json;

namespace {

/// A schema that lets unknown parameters through would ignore options, which the core promises never to do.
bool is_closed(const json& schema) { return schema.value("additionalProperties", json(true)) == json(false); }

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Result<BackendDescription> parse_description(const PluginCaller& caller, const json& document,
                                             const std::vector<std::string>& functions) {
  ResultReader read(caller, "describe", document);
  BackendDescription description;
  description.name = read.string("name");
  description.params_schema = read.object("params_schema");
  description.kept = read.object("kept");
  description.session = read.boolean_or("session", true);
  description.needs_image = read.boolean_or("needs_image", true);
  for (auto& verb : read.strings("verbs")) {
    read.require(contains(functions, verb), "lists the verb '" + verb + "', for which it has no function");
    description.verbs.insert(std::move(verb));
  }
  read.require(check_name(description.name, "name").ok(), "has the name '" + clean_text(description.name, 80) +
                                                              "'; 1 to 63 characters of a-z, 0-9, '.', '_', '-' are right");
  read.require(is_closed(description.params_schema), "gave a params_schema without \"additionalProperties\": false at the top");
  if (auto wrong = read.error()) return std::move(*wrong);
  return description;
}

}  // namespace harena
