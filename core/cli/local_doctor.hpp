#pragma once
// `harena doctor` where no harenad answers: the program harenad beside this one looks at the machine without starting anything.

#include <string>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::cli {

/// The findings of `harenad --doctor`. `reason`: why no server was asked, as a first finding, an error; empty: without it. `config`: the file
/// that harenad would be given; empty: its own default. not_found when there is no harenad beside this program. [blocking]
Result<nlohmann::json> local_findings(const std::string& config, const std::string& reason);

}  // namespace harena::cli
