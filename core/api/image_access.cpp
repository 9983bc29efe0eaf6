#include "core/api/image_access.hpp"

namespace harena {
namespace {

Status check_one(Authenticator& iam, const Principal& principal, const ProjectPath& user, const std::string& text) {
  HARENA_TRY(const auto reference, image::ImageReference::parse(text));
  if (reference.project().contains(user)) return ok_status();
  if (iam.authorize(principal, Permission::image_read, reference.project()).ok()) return ok_status();
  return make_error(ErrorCode::not_found, "no image '" + text + "' that project " + user.str() + " may use");
}

}  // namespace

Status check_may_use_images(Authenticator& iam, const Principal& principal, const CreateSpec& spec) {
  if (!spec.image.empty()) HARENA_TRY_STATUS(check_one(iam, principal, spec.project, spec.image));
  for (const auto& reference : spec.workspaces) HARENA_TRY_STATUS(check_one(iam, principal, spec.project, reference));
  for (const auto& reference : spec.toolkits) HARENA_TRY_STATUS(check_one(iam, principal, spec.project, reference));
  return ok_status();
}

Result<image::ImageReference> permitted_image(Authenticator& iam, const Principal& principal, Permission permission,
                                              const std::string& reference) {
  HARENA_TRY(auto parsed, image::ImageReference::parse(reference));
  HARENA_TRY_STATUS(iam.authorize(principal, permission, parsed.project()));
  return parsed;
}

}  // namespace harena
