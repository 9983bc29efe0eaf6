#pragma once
// Host: what the process that loaded a plugin offers to it. A small value, to be copied and kept: valid from the
// plugin's creation to its destruction, every function from any thread, none of them blocks.

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "sdk/abi/types.h"
#include "sdk/base/result.hpp"
#include "sdk/cpp/text.hpp"

namespace harena::plugin {

class Host {
 public:
  Host() = default;
  explicit Host(const harena_host* raw) : raw_(raw) {}

  void debug(std::string_view message) const { log(HARENA_LOG_DEBUG, message); }
  void info(std::string_view message) const { log(HARENA_LOG_INFO, message); }
  void warning(std::string_view message) const { log(HARENA_LOG_WARNING, message); }
  void error(std::string_view message) const { log(HARENA_LOG_ERROR, message); }

  /// Something happened that no call asked for: a document with a "type" (sdk/abi/types.h lists them).
  void event(const nlohmann::json& document) const {
    if (!HARENA_ABI_HAS(raw_, event)) return;
    std::string text = document.dump();
    raw_->event(raw_->context, to_abi(text));
  }
  /// A sandbox ended by itself. `detail` says which limit or which part of the infrastructure.
  void sandbox_exited(std::string_view sandbox_id, Cause cause, std::string_view detail) const {
    event({{"type", "sandbox_exited"}, {"sandbox_id", sandbox_id}, {"cause", to_string(cause)}, {"detail", detail}});
  }
  /// What probe reports has changed: the host will ask again.
  void probe_changed() const { event({{"type", "probe_changed"}}); }

  /// A further service by id and major (`harena.host.api/1`); null when this host doesn't offer it.
  const void* service(std::string_view id) const {
    return HARENA_ABI_HAS(raw_, get_service) ? raw_->get_service(raw_->context, to_abi(id)) : nullptr;
  }

 private:
  void log(std::int32_t level, std::string_view message) const {
    if (HARENA_ABI_HAS(raw_, log)) raw_->log(raw_->context, level, to_abi(message));
  }

  const harena_host* raw_ = nullptr;
};

}  // namespace harena::plugin
