#pragma once
// Images: the layers that sandboxes are made from.

#include <functional>
#include <string>

#include "sdk/client/client.hpp"

namespace harena::client {

struct ImportStep {
  std::string step;
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: not known
};

class Images {
 public:
  explicit Images(Client& client) : client_(client) {}

  Status list(const std::string& prefix, const std::function<Status(const json&)>& on_image);
  Result<json> manifest(const std::string& reference);
  /// `target` becomes a further name of the image `reference`.
  Status tag(const std::string& reference, const std::string& target);
  Status remove(const std::string& reference);

  /// `source` is {"docker": ...}, {"folder": ...} or {"archive": ...}: paths of the server's machine. Returns the image.
  Result<json> import_from(const std::string& reference, const std::string& kind, const json& source,
                           const std::function<void(const ImportStep&)>& on_step);
  /// Uploads a tar file of this machine.
  Result<json> import_upload(const std::string& reference, const std::string& kind, const std::string& path,
                             const std::function<void(const ImportStep&)>& on_step);

 private:
  Result<json> follow(const Request& request, const std::function<void(const ImportStep&)>& on_step);
  Client& client_;
};

}  // namespace harena::client
