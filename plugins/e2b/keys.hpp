#pragma once
// The tokens of sandboxes: derived, so that any replica knows them and none stores them.

#include <string>
#include <string_view>

#include "sdk/base/result.hpp"
#include "sdk/cpp/frontend.hpp"

namespace harena::e2b {

/// Thread-safe; no call blocks.
class Keys {
 public:
  /// unavailable while the API isn't up.
  static Result<Keys> make(const plugin::HostApi& host);

  /// `envdAccessToken`: what X-Access-Token must be for this sandbox. 64 hexadecimal digits.
  std::string envd_token(std::string_view sandbox_id) const;
  /// `trafficAccessToken` of a sandbox whose ports aren't public.
  std::string traffic_token(std::string_view sandbox_id) const;
  /// A credential of Harena's API for this sandbox, for traffic that brings no key; empty id: to list the sandboxes of this
  /// frontend. Valid in this process; never let it out.
  Result<std::string> act_for(std::string_view sandbox_id) const { return host_.act_for(sandbox_id); }

 private:
  Keys(const plugin::HostApi& host, std::string secret) : host_(host), secret_(std::move(secret)) {}
  plugin::HostApi host_;
  std::string secret_;
};

/// Takes as long wherever two texts differ.
bool equal_secrets(std::string_view a, std::string_view b);

}  // namespace harena::e2b
