#include "sdk/client/endpoint.hpp"

#include <fstream>

#include <Poco/URI.h>

#include "sdk/base/text.hpp"

namespace harena::client {

namespace {

Error bad_url(std::string_view url) {
  return make_error(ErrorCode::invalid_argument, "'" + std::string(url) + "' isn't the URL of a server; it looks like " +
                                                     std::string(kDefaultUrl));
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string trimmed_path(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  return path.ends_with("/v1") ? path : path + "/v1";
}

std::string no_token_message(const DiscoveryInputs& inputs, const Endpoint& endpoint) {
  const std::string way = "no token for " + endpoint.describe() + ": set HARENA_TOKEN or give --token";
  if (!endpoint.loopback()) return way;
  return way + ", or run as a user who may read " + inputs.token_file;
}

}  // namespace

bool Endpoint::loopback() const { return host == "localhost" || host == "::1" || host.starts_with("127."); }

std::string Endpoint::describe() const {
  const bool v6 = host.find(':') != std::string::npos;
  return (tls ? "https://" : "http://") + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

Result<Endpoint> parse_url(std::string_view url) try {
  const Poco::URI uri{std::string(url)};
  if ((uri.getScheme() != "http" && uri.getScheme() != "https") || uri.getHost().empty()) return bad_url(url);
  if (!uri.getUserInfo().empty() || !uri.getRawQuery().empty() || !uri.getFragment().empty()) return bad_url(url);
  Endpoint endpoint;
  endpoint.tls = uri.getScheme() == "https";
  endpoint.host = uri.getHost();
  endpoint.port = uri.getPort();
  endpoint.base_path = trimmed_path(uri.getPath());
  return endpoint;
} catch (const std::exception&) {
  return bad_url(url);
}

Result<Endpoint> discover(const DiscoveryInputs& inputs) {
  const auto variable = [&](const char* name) {
    return inputs.environment ? inputs.environment(name).value_or("") : std::string();
  };
  std::string url = inputs.url.empty() ? variable("HARENA_URL") : inputs.url;
  if (url.empty()) url = kDefaultUrl;
  HARENA_TRY(auto endpoint, parse_url(url));
  endpoint.token = inputs.token.empty() ? variable("HARENA_TOKEN") : inputs.token;
  if (endpoint.token.empty() && endpoint.loopback()) endpoint.token = first_line(inputs.token_file);
  if (endpoint.token.empty()) return make_error(ErrorCode::unauthenticated, no_token_message(inputs, endpoint));
  return endpoint;
}

}  // namespace harena::client
