#pragma once
// Image layers, mounted once a machine and shared by all sandboxes: WORK/layers/N, by digest.

#include <map>
#include <string>

#include "sdk/base/result.hpp"
#include "sdk/base/unique_fd.hpp"

namespace harena::container {

class LayerMounts {
 public:
  enum class Method { automatic, loop };
  LayerMounts(std::string work, Method method) : work_(std::move(work)), method_(method) {}

  /// Mounts an EROFS image read-only: from the file itself where the kernel can (6.12+), else through a loop device.
  /// Nothing happens if the digest is mounted already.
  Status add(const std::string& digest, int image_fd);
  /// The path; not_found for a digest that isn't mounted.
  Result<std::string> path_of(const std::string& digest) const;
  /// Sandboxes that use the layer keep it: overlayfs has its own reference.
  Status drop(const std::string& digest);
  std::size_t size() const { return paths_.size(); }

 private:
  Result<UniqueFd> mount_image(int image_fd) const;
  const std::string work_;
  const Method method_;
  std::uint64_t serial_ = 0;
  std::map<std::string, std::string> paths_;
};

}  // namespace harena::container
