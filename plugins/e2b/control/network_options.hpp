#pragma once
// `allow_internet_access` and `network` of a create: what closes the network is honoured, what would open a part of it is refused.

#include "plugins/e2b/control/fields.hpp"
#include "plugins/e2b/record.hpp"

namespace harena::e2b {

/// What the answer of a create tells of a network that was asked for, or is by default, open.
inline constexpr const char* kNetworkHeader = "X-Harena-Network";
inline constexpr const char* kNetworkNotice = "closed: sandboxes have no network beyond their own yet (docs/e2b.md)";

/// Reads both into `out`. invalid_argument names the option that can't be honoured, or the value that is none.
Status parse_network(Fields& fields, const nlohmann::json& network, Counters& counters, Extras& out);

/// "10.0.0.0/8", "1.1.1.1", "fd00::/8".
bool is_address_or_range(const std::string& text);

}  // namespace harena::e2b
