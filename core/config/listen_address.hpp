#pragma once
// "127.0.0.1:7300", "[::1]:7300".

#include <string>
#include <string_view>

#include "core/config/config.hpp"
#include "sdk/base/result.hpp"

namespace harena {

/// An IPv4 address, or an IPv6 address in brackets, a colon, a port from 0 to 65535. Names are refused: what is
/// listened on mustn't depend on a resolver. invalid_argument names the text and what would be right.
Result<ListenAddress> parse_listen_address(std::string_view text);

}  // namespace harena
