#pragma once
// What a create request means for cgroups and for the launcher.

#include <string>
#include <vector>

#include "plugins/container/launcher_client.hpp"
#include "plugins/container/parameters.hpp"
#include "sdk/support/cgroup_limits.hpp"

namespace harena::container {

/// The image's layers, lowest first, each once; invalid_argument for none and for a format other than EROFS.
Result<std::vector<LayerImage>> layers_of(const json& request);
/// For SandboxRequest::rlimits. failed_precondition names the limit that this daemon can't give.
Result<std::vector<std::string>> rlimits_of(const Parameters& parameters);
/// The user that the image names; may be empty.
std::string image_user(const json& request);
/// Limits for the sandbox's groups. Our init is one process more than the user was promised.
CgroupLimits limits_of(const Parameters& parameters);
/// Our init is in the sandbox's cgroup, but not one of the processes that the user was promised.
inline constexpr std::int64_t kOwnPids = 1;

SandboxRequest launcher_request(const std::string& id, const json& request, const Parameters& parameters, const Granted& granted,
                                const std::vector<LayerImage>& layers, std::uint32_t first_id);

}  // namespace harena::container
