#pragma once
// `-p key=value`, typed by the schema that the backend publishes: a backend that came yesterday needs no new `harena`.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::cli {

/// The `params` object of a creation. `schema` is the backend's params_schema. A key that it doesn't have is
/// `invalid_argument` naming the nearest one; a value that can't be of the schema's type names the type. An integer
/// also takes a size ("1GiB"); an array "a,b" or JSON; an object JSON. Limits and patterns are the server's to check.
Result<nlohmann::json> typed_params(const nlohmann::json& schema, const std::string& backend,
                                    const std::vector<std::string>& pairs);

}  // namespace harena::cli
