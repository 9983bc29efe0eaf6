#pragma once
// What a backend says about itself, checked.

#include <string>
#include <vector>

#include "core/contracts/backend.hpp"
#include "core/pluginhost/plugin_caller.hpp"

namespace harena {

/// `functions`: the optional verbs whose functions the plugin has. internal (broken contract) for a description
/// without a name or schema, or with a verb that has no function.
Result<BackendDescription> parse_description(const PluginCaller& caller, const nlohmann::json& document,
                                             const std::vector<std::string>& functions);

}  // namespace harena
