#include "core/config/listen_address.hpp"

#include <arpa/inet.h>

#include <array>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

Error wrong(std::string_view text) {
  return make_error(ErrorCode::invalid_argument,
                    "'" + std::string(text.substr(0, 80)) +
                        "'; an address and a port are right, such as 127.0.0.1:7300 or [::1]:7300");
}

bool is_address(const std::string& host, int family) {
  std::array<unsigned char, sizeof(in6_addr)> parsed{};
  return ::inet_pton(family, host.c_str(), parsed.data()) == 1;
}

}  // namespace

std::string ListenAddress::str() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<ListenAddress> parse_listen_address(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos) return wrong(text);
  std::string host(text.substr(0, colon));
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (!is_address(host, bracketed ? AF_INET6 : AF_INET)) return wrong(text);
  const auto port = parse_int(text.substr(colon + 1), 0, 65'535, "the port");
  if (!port) return wrong(text);
  return ListenAddress{std::move(host), static_cast<std::uint16_t>(*port)};
}

}  // namespace harena
