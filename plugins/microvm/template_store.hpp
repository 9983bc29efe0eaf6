#pragma once
// TemplateStore: machine images of machines that have booted, by key (template_key.hpp), in one folder. The files are shared with the machines
// that started from them by hard links, so a template may go at any time.

#include <mutex>
#include <optional>
#include <string>

#include "sdk/base/result.hpp"

namespace harena::microvm {

/// Thread-safe.
class TemplateStore {
 public:
  /// `folder` is made if it isn't there; what a daemon that died was making in it is removed. `most`: templates that are kept.
  static Result<std::unique_ptr<TemplateStore>> open(const std::string& folder, std::size_t most);

  /// The image's folder; the template is the one used last then.
  std::optional<std::string> find(const std::string& key) const;
  /// An empty folder to make a template in. It becomes one by keep().
  Result<std::string> begin(const std::string& key) const;
  /// Atomic. Those that were used longest ago go, down to `most`. Returns its folder.
  Result<std::string> keep(const std::string& key);
  /// Idempotent.
  void discard(const std::string& key) const;

 private:
  TemplateStore(std::string folder, std::size_t most) : folder_(std::move(folder)), most_(most) {}
  void evict() const;
  const std::string folder_;
  const std::size_t most_;
  mutable std::mutex mutex_;
};

}  // namespace harena::microvm
