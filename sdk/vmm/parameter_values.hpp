#pragma once
// Values of a create's parameters: read, or refused by name with the value and what would be right.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::vmm {

/// A value in a message: at most 80 bytes of it.
std::string shown(const nlohmann::json& value);
/// invalid_argument: "parameter 'cpu' is 0; right is ...".
Error bad_parameter(const std::string& name, const nlohmann::json& value, const std::string& right);
Result<std::int64_t> integer_value(const std::string& name, const nlohmann::json& value, std::int64_t min, std::int64_t max);
/// Bytes, or a text such as "2GiB"; rounded up to whole MiB: what machines have.
Result<std::int64_t> size_value(const std::string& name, const nlohmann::json& value, std::int64_t min, std::int64_t max);

}  // namespace harena::vmm
