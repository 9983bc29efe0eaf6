#include "plugins/e2b/control/network_options.hpp"

#include <boost/asio/ip/address.hpp>

#include <charconv>

namespace harena::e2b {

using nlohmann::json;

namespace {

Error refused(const std::string& option, const std::string& why) {
  return make_error(ErrorCode::invalid_argument, "network." + option + " can't be honoured here: " + why + " (docs/e2b.md)");
}

Status refuse_unless_absent(const json& value, const char* option, const char* why) {
  const bool absent = value.is_null() || (value.is_structured() && value.empty());
  return absent ? ok_status() : Status(refused(option, why));
}

Status check_denied(const std::vector<std::string>& denied) {
  for (const auto& one : denied) {
    if (is_address_or_range(one)) continue;
    return make_error(ErrorCode::invalid_argument, "network.denyOut has '" + one.substr(0, 80) +
                                                       "'; an IP address or a range such as 10.0.0.0/8 is right");
  }
  return ok_status();
}

Status check_mask(const std::string& mask) {
  const bool bad = mask.size() > 255 || mask.find_first_of(" \t\r\n/@") != std::string::npos;
  if (!bad) return ok_status();
  return make_error(ErrorCode::invalid_argument, "network.maskRequestHost is '" + mask.substr(0, 80) +
                                                     "'; a host name such as localhost:${PORT} is right");
}

}  // namespace

bool is_address_or_range(const std::string& text) {
  const auto slash = text.find('/');
  boost::system::error_code problem;
  const auto address = boost::asio::ip::make_address(text.substr(0, slash), problem);
  if (problem) return false;
  if (slash == std::string::npos) return true;
  int bits = -1;
  const char* const begin = text.data() + slash + 1;
  const char* const end = text.data() + text.size();
  const auto [at, failure] = std::from_chars(begin, end, bits);
  return begin != end && at == end && failure == std::errc() && bits >= 0 && bits <= (address.is_v4() ? 32 : 128);
}

Status parse_network(Fields& fields, const json& network, Counters& counters, Extras& out) {
  HARENA_TRY(out.allow_internet_access, fields.boolean("allow_internet_access"));
  if (network.is_null()) return ok_status();
  Fields inner(network, counters, "create", "network.");
  HARENA_TRY(const auto allow_out, inner.texts("allowOut"));
  HARENA_TRY(out.deny_out, inner.texts("denyOut"));
  HARENA_TRY(const auto is_public, inner.boolean("allowPublicTraffic"));
  HARENA_TRY(const auto mask, inner.text("maskRequestHost"));
  HARENA_TRY(const auto https_ports, inner.array("httpsPorts"));
  HARENA_TRY(const auto proxy, inner.object("egressProxy"));
  HARENA_TRY(const auto rules, inner.object("rules"));
  inner.done();
  if (!allow_out.empty()) {
    return refused("allowOut", "rules that open single targets aren't there yet; the network of sandboxes is closed");
  }
  HARENA_TRY_STATUS(refuse_unless_absent(proxy, "egressProxy", "sandboxes have no outgoing traffic that could pass a proxy"));
  HARENA_TRY_STATUS(refuse_unless_absent(rules, "rules", "sandboxes have no outgoing traffic into which headers could be put"));
  HARENA_TRY_STATUS(refuse_unless_absent(https_ports, "httpsPorts", "ports of a sandbox are spoken to in plain HTTP"));
  HARENA_TRY_STATUS(check_denied(out.deny_out));
  HARENA_TRY_STATUS(check_mask(mask.value_or("")));
  out.public_traffic = is_public.value_or(true);
  out.mask_request_host = mask.value_or("");
  return ok_status();
}

}  // namespace harena::e2b
