#pragma once
// Whether this host can run microVMs, what it has for it, and the command that brings what is missing.

#include <nlohmann/json.hpp>

#include "plugins/microvm/settings.hpp"

namespace harena::microvm {

/// {"usable", "why_not", "facts"}: accelerator, versions, kernel, initramfs, which kinds of snapshot there are.
json probe_host(const Settings& settings);

}  // namespace harena::microvm
