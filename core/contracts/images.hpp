#pragma once
// ImageResolver: from the references that a create names to the layers that a backend mounts.

#include <string>
#include <vector>

#include "core/contracts/backend.hpp"

namespace harena {

struct ImageStack {
  std::vector<LayerFile> layers;  ///< lowest first
  nlohmann::json config = nlohmann::json::object();
};

/// Thread-safe, blocking.
class ImageResolver {
 public:
  virtual ~ImageResolver() = default;
  /// not_found names the reference and the nearest that is there; invalid_argument for what is no reference or of
  /// the wrong kind.
  virtual Result<ImageStack> resolve(const CallContext& call, const std::string& image,
                                     const std::vector<std::string>& workspaces,
                                     const std::vector<std::string>& toolkits) = 0;
  /// The same layers again, whatever their image's tags mean by now. data_loss names one that is gone.
  virtual Result<std::vector<LayerFile>> layers(const CallContext& call, const std::vector<std::string>& digests) = 0;
};

}  // namespace harena
