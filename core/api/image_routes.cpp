#include "core/api/image_routes.hpp"

#include "core/api/image_access.hpp"
#include "core/api/image_import.hpp"
#include "core/api/image_json.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/base/text.hpp"

namespace harena {

using http::blocking;
using http::Task;
using nlohmann::json;

json image_json(const std::string& reference, const image::FoundImage& found) {
  std::int64_t size = 0;
  for (const auto& layer : found.manifest.layers) size += layer.size;
  return {{"reference", reference},
          {"digest", found.digest.str()},
          {"kind", image::to_string(found.manifest.kind)},
          {"size", size},
          {"layers", found.manifest.layers.size()},
          {"created", found.manifest.created}};
}

void ImageRoutes::add_to(ApiRouter& router) {
  using R = ImageRoutes;
  router.add("GET", "/v1/images", "list_images", "List images", this, &R::list);
  router.add("GET", "/v1/images/{reference}", "get_image", "One image with its manifest", this, &R::get);
  router.add("POST", "/v1/images/import", "import_image", "Import an image", this, &R::import);
  router.add("POST", "/v1/images/tag", "tag_image", "Give an image another name", this, &R::tag);
  router.add("DELETE", "/v1/images/{reference}", "delete_image", "Remove a name of an image", this, &R::remove);
}

ImageRoutes::Answer ImageRoutes::list(ApiCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY(const auto limit, parse_int(query.get("limit").value_or("100"), 1, 1'000, "limit"));
  const std::string prefix(query.get("prefix").value_or(""));
  const std::string cursor(query.get("cursor").value_or(""));
  std::string next;
  HARENA_CO_TRY(const auto found, co_await blocking(services_.workers, [&] {
    return services_.images.catalog.list(call.context, prefix, cursor, limit, next);
  }));
  json images = json::array();
  for (const auto& listed : found) {
    // Only those that the caller may read: a prefix says nothing about rights.
    const auto reference = image::ImageReference::parse(listed.reference);
    if (!reference.ok()) continue;
    const bool readable = services_.iam.authorize(call.principal, Permission::image_read, reference->project()).ok() ||
                          reference->project().contains(call.principal.project);
    if (readable) images.push_back(image_json(listed.reference, listed.image));
  }
  json body = {{"images", std::move(images)}, {"next_cursor", next}};
  co_return Reply{200, std::move(body)};
}

ImageRoutes::Answer ImageRoutes::get(ApiCall& call) {
  const auto& text = call.request.param("reference");
  HARENA_CO_TRY(const auto reference, image::ImageReference::parse(text));
  if (!reference.project().contains(call.principal.project)) {
    HARENA_CO_TRY_STATUS(services_.iam.authorize(call.principal, Permission::image_read, reference.project()));
  }
  HARENA_CO_TRY(const auto found, co_await blocking(services_.workers, [&] {
    return services_.images.catalog.find(call.context, text);
  }));
  json body = image_json(text, found);
  body["manifest"] = json::parse(found.manifest.serialise());
  co_return Reply{200, std::move(body)};
}

ImageRoutes::Answer ImageRoutes::import(ApiCall& call) {
  const auto type = call.request.header("Content-Type").value_or("");
  const bool is_archive = type.starts_with("application/x-tar") || type.starts_with("application/octet-stream");
  if (!is_archive) {
    HARENA_CO_TRY(const auto query, call.request.query());
    HARENA_CO_TRY_STATUS(query.allow_only({}));  // the body says it all
    HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
    HARENA_CO_TRY(auto request, parse_import(services_, call.principal, body));
    co_return co_await run_import(services_, call, std::move(request));
  }
  HARENA_CO_TRY(const auto folder, services_.images.work.make());
  HARENA_CO_TRY(auto request, co_await receive_archive(services_, call, folder.path()));
  co_return co_await run_import(services_, call, std::move(request));
}

ImageRoutes::Answer ImageRoutes::tag(ApiCall& call) {
  HARENA_CO_TRY(const auto body, co_await call.json_body(services_.config.limits.max_body_bytes));
  JsonFields fields(body, "the tag request");
  HARENA_CO_TRY(const auto from_text, fields.string("reference", ""));
  HARENA_CO_TRY(const auto to_text, fields.string("target", ""));
  HARENA_CO_TRY_STATUS(fields.finish());
  HARENA_CO_TRY_STATUS(permitted_image(services_.iam, call.principal, Permission::image_read, from_text));
  HARENA_CO_TRY(const auto to, permitted_image(services_.iam, call.principal, Permission::image_write, to_text));
  HARENA_CO_TRY_STATUS(co_await blocking(services_.workers, [&] {
    return services_.images.catalog.tag(call.context, from_text, to);
  }));
  co_return Reply{200, json::object()};
}

ImageRoutes::Answer ImageRoutes::remove(ApiCall& call) {
  const auto& text = call.request.param("reference");
  HARENA_CO_TRY_STATUS(permitted_image(services_.iam, call.principal, Permission::image_write, text));
  HARENA_CO_TRY_STATUS(co_await blocking(services_.workers, [&] {
    return services_.images.catalog.remove(call.context, text);
  }));
  co_return Reply{200, json::object()};
}

}  // namespace harena
