#pragma once
// HostApi: harena.host.api/1, the way by which frontends ask the core: connections to the API's own server, made in process,
// and what the core says for a frontend that acts for a sandbox.

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>

#include "sdk/abi/frontend.h"
#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena {

/// What stands behind the service while the API is up. None may block.
struct HostApiParts {
  std::function<Result<UniqueFd>()> connect;
  /// (plugin's id, sandbox id or empty) -> token.
  std::function<Result<std::string>(const std::string& plugin, const std::string& sandbox_id)> act_for;
  /// (plugin's id, purpose) -> 64 hexadecimal digits.
  std::function<Result<std::string>(const std::string& plugin, const std::string& purpose)> secret;
};

/// Thread-safe. Outlives the plugins, which keep pointers to its tables; the API behind it comes later and goes earlier.
class HostApi {
 public:
  static constexpr const char* kService = HARENA_HOST_API_SERVICE;

  HostApi();
  ~HostApi();
  HostApi(const HostApi&) = delete;
  HostApi& operator=(const HostApi&) = delete;

  /// The table for one plugin, for HostServices::service; made once.
  const void* table(const std::string& plugin);
  void open(HostApiParts parts);
  /// From now on: unavailable. Returns when no call is under way.
  void close();

 private:
  struct Table;
  /// `function(parts)` while it is open.
  template <class Function>
  auto with_parts(Function function) const -> decltype(function(std::declval<const HostApiParts&>()));

  mutable std::shared_mutex mutex_;
  HostApiParts parts_;
  std::mutex tables_mutex_;
  std::map<std::string, std::unique_ptr<Table>> tables_;
};

}  // namespace harena
