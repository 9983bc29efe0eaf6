#pragma once
// What a user may say about a full machine: the JSON Schema that describe publishes, and the checked values.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "plugins/qemu/machine/machine_config.hpp"
#include "sdk/base/result.hpp"

namespace harena::qemu {

/// The schema of "params" (2020-12, additionalProperties false).
const json& parameters_schema();

/// A guest's kernel takes memory in such pieces.
inline constexpr std::int64_t kMemoryStepBytes = std::int64_t{128} << 20;

/// What of the parameters can change while a machine lives.
struct MachineSize {
  int cpus = 1;
  std::int64_t cpu_millicores = 1000;
  std::int64_t memory_bytes = 0;
};
/// invalid_argument names a parameter other than cpu and memory that isn't the same in both.
Status check_only_size_changes(const json& before, const json& after);
/// Of whole, valid parameters.
Result<MachineSize> read_size(const json& params);

/// Fills what the parameters say (not the host's paths) into `config`. Images must lie below `roots`. invalid_argument names the
/// parameter, its value and what would be right.
Status apply_parameters(const json& params, const std::vector<std::string>& roots, MachineConfig& config,
    std::int64_t& cpu_millicores, bool& uefi);

}  // namespace harena::qemu
