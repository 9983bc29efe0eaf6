#pragma once
// What both planes work with. Everything outlives the server and is thread-safe.

#include "plugins/e2b/counters.hpp"
#include "plugins/e2b/keys.hpp"
#include "plugins/e2b/settings.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/frontend/api_client.hpp"

namespace harena::e2b {

class WarmPools;

struct Services {
  frontend::ApiClient& api;
  const Settings& settings;
  const Keys& keys;
  Counters& counters;
  Clock& clock;
  WarmPools* warm = nullptr;  ///< set before the server begins
};

}  // namespace harena::e2b
