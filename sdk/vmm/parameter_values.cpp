#include "sdk/vmm/parameter_values.hpp"

#include "sdk/base/text.hpp"

namespace harena::vmm {
namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = 1 << 20;
constexpr std::size_t kShownBytes = 80;

}  // namespace

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() <= kShownBytes) return text;
  text.resize(kShownBytes);
  return text + "...";
}

Error bad_parameter(const std::string& name, const json& value, const std::string& right) {
  return make_error(ErrorCode::invalid_argument, "parameter '" + name + "' is " + shown(value) + "; right is " + right);
}

Result<std::int64_t> integer_value(const std::string& name, const json& value, std::int64_t min, std::int64_t max) {
  const Error wrong = bad_parameter(name, value, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
  if (!value.is_number_integer()) return wrong;
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) return wrong;
  const auto wanted = value.get<std::int64_t>();
  if (wanted < min || wanted > max) return wrong;
  return wanted;
}

Result<std::int64_t> size_value(const std::string& name, const json& value, std::int64_t min, std::int64_t max) {
  const std::string range = "from " + std::to_string(min) + " to " + std::to_string(max);
  const Error wrong = bad_parameter(name, value, "a size such as \"512MiB\" or bytes, " + range);
  const auto read = value.is_string() ? parse_size(value.get<std::string>()) : integer_value(name, value, min, max);
  if (!read.ok() || *read < min || *read > max) return wrong;
  return (*read + kMiB - 1) / kMiB * kMiB;
}

}  // namespace harena::vmm
