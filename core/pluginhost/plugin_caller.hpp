#pragma once
// PluginCaller: one call into a plugin and the check of its answer; what the adapters have in common.
//
// A plugin's own errors pass (code, message, cause, retry). What breaks the contract becomes `internal` with cause
// infrastructure, naming plugin and verb: a bad plugin is a bad machine, never a bad caller.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "core/contracts/call.hpp"
#include "sdk/base/result.hpp"
#include "sdk/loader/invocation.hpp"
#include "sdk/loader/library.hpp"

namespace harena {

/// Of one result document. The core stores parts of it beside the sandbox, whose record has 1 MiB at most.
inline constexpr std::size_t kMaxResultBytes = 4 * 1024 * 1024;
/// Of a backend's state blob, which is stored with every change of the sandbox.
inline constexpr std::size_t kMaxStateBlobBytes = 256 * 1024;

/// Thread-safe. Keeps the instance alive.
class PluginCaller {
 public:
  explicit PluginCaller(std::shared_ptr<const loader::Instance> instance) : instance_(std::move(instance)) {}

  using Function = std::function<harena_status(void* self, const harena_call* call)>;
  using OnItem = std::function<bool(const loader::Item&)>;

  /// Calls; the result document, or {} when the plugin gave none. Without `on_item` an item breaks the contract. `flags` are those
  /// of the call record.
  Result<nlohmann::json> call(const CallContext& context, std::string_view verb, const Function& function,
                              OnItem on_item = nullptr, std::uint32_t flags = 0) const;

  /// The error for a plugin that broke its contract: "plugin 'x' broke its contract in create: it `what`".
  Error broken(std::string_view verb, const std::string& what) const;
  const std::string& plugin_id() const { return instance_->library().id(); }

 private:
  std::shared_ptr<const loader::Instance> instance_;
};

/// Reads members of a result document; what is missing or of another type is named by the error of error().
///
///     ResultReader read(caller, "open", document);
///     OpenedBlob blob{read.string("path"), read.integer("size", 0)};
///     if (auto wrong = read.error()) return std::move(*wrong);
class ResultReader {
 public:
  ResultReader(const PluginCaller& caller, std::string_view verb, const nlohmann::json& document);

  std::string string(const char* key);
  std::string string_or(const char* key, std::string fallback);
  /// `least` is the smallest right value.
  std::int64_t integer(const char* key, std::int64_t least);
  bool boolean(const char* key);
  bool boolean_or(const char* key, bool fallback);
  /// {} when absent.
  nlohmann::json object(const char* key);
  /// Empty when absent.
  std::vector<std::string> strings(const char* key);
  /// Notes `what` unless `right`.
  void require(bool right, const std::string& what);
  /// The first thing that was wrong.
  std::optional<Error> error() const;

 private:
  const nlohmann::json* find(const char* key) const;
  void wrong(const char* key, const char* right);

  const PluginCaller& caller_;
  std::string verb_;
  const nlohmann::json& document_;
  std::string problem_;
};

/// Valid UTF-8 (other bytes replaced) of at most `most` bytes: what plugins say goes into JSON and logs.
std::string clean_text(std::string_view text, std::size_t most);

}  // namespace harena
