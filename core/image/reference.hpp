#pragma once
// ImageReference: the name of an image, `project/name:tag` or `project/name@sha256:...`.
//
//   root/base:v1                     project root, name base, tag v1
//   root/rl/job-42/tools@sha256:...  project root/rl/job-42, name tools, pinned by digest
//
// A tag is never implied: what runs should be what was written. The parser is strict; its errors name the
// part that is wrong, the rule, and the nearest right form when there is one.

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "core/image/digest.hpp"
#include "core/model/project.hpp"
#include "sdk/base/result.hpp"

namespace harena::image {

/// The store's limit on a reference (sdk/abi/image_store.h).
inline constexpr std::size_t kMaxReferenceLength = 512;
/// As in the OCI distribution specification.
inline constexpr std::size_t kMaxTagLength = 128;

class ImageReference {
 public:
  /// Project and name by the rules of core/model/project.hpp. Tag: 1 to 128 of [A-Za-z0-9._-], beginning with a
  /// letter, a digit or `_`. invalid_argument otherwise.
  static Result<ImageReference> parse(std::string_view text);

  const ProjectPath& project() const { return project_; }
  const std::string& name() const { return name_; }
  /// Exactly one of tag and digest is set.
  const std::optional<std::string>& tag() const { return tag_; }
  const std::optional<Digest>& digest() const { return digest_; }
  /// The text that parse() takes.
  std::string str() const;
  auto operator<=>(const ImageReference&) const = default;

 private:
  ImageReference(ProjectPath project, std::string name) : project_(std::move(project)), name_(std::move(name)) {}
  ProjectPath project_;
  std::string name_;
  std::optional<std::string> tag_;
  std::optional<Digest> digest_;
};

/// `project/name@sha256:...` of an image that `reference` names.
std::string pinned_reference(const ImageReference& reference, const Digest& digest);

}  // namespace harena::image
