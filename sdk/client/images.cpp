#include "sdk/client/images.hpp"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

namespace harena::client {

namespace {

/// A large layer may be unpacked for minutes between two lines.
constexpr std::chrono::minutes kImportSilence{30};

ImportStep step_of(const json& progress) {
  ImportStep step{.step = text_or(progress, "step")};
  if (const auto done = progress.find("done"); done != progress.end() && done->is_number()) step.done = done->get<std::int64_t>();
  if (const auto total = progress.find("total"); total != progress.end() && total->is_number()) step.total = total->get<std::int64_t>();
  return step;
}

}  // namespace

Status Images::list(const std::string& prefix, const std::function<Status(const json&)>& on_image) {
  return client_.pages("/images" + query({{"prefix", prefix}}), "images", on_image);
}

Result<json> Images::manifest(const std::string& reference) { return client_.get("/images/" + segment(reference)); }

Status Images::tag(const std::string& reference, const std::string& target) {
  HARENA_TRY_STATUS(client_.post("/images/tag", {{"reference", reference}, {"target", target}}, true));
  return {};
}

Status Images::remove(const std::string& reference) {
  HARENA_TRY_STATUS(client_.remove("/images/" + segment(reference)));
  return {};
}

Result<json> Images::import_from(const std::string& reference, const std::string& kind, const json& source,
                                 const std::function<void(const ImportStep&)>& on_step) {
  Request request{.method = "POST", .target = "/images/import"};
  request.content_type = "application/json";
  request.body = json({{"reference", reference}, {"kind", kind}, {"source", source}})
                     .dump(-1, ' ', false, json::error_handler_t::replace);
  return follow(request, on_step);
}

Result<json> Images::import_upload(const std::string& reference, const std::string& kind, const std::string& path,
                                   const std::function<void(const ImportStep&)>& on_step) {
  std::error_code failure;
  const auto total = static_cast<std::int64_t>(std::filesystem::file_size(path, failure));
  auto file = std::make_shared<std::ifstream>(path, std::ios::binary);
  if (failure || !*file) return errno_error(failure ? failure.value() : errno, "opening " + path);
  Request request{.method = "POST", .target = "/images/import" + query({{"reference", reference}, {"kind", kind}})};
  request.content_type = "application/x-tar";
  request.source = [file, total, on_step, done = std::int64_t{0}](char* buffer, std::size_t size) mutable -> Result<std::size_t> {
    file->read(buffer, static_cast<std::streamsize>(size));
    done += file->gcount();
    on_step({"uploading", done, total});
    return static_cast<std::size_t>(file->gcount());
  };
  return follow(request, on_step);
}

Result<json> Images::follow(const Request& request, const std::function<void(const ImportStep&)>& on_step) {
  Request patient = request;
  patient.read_timeout = kImportSilence;
  json image;
  HARENA_TRY_STATUS(client_.events(patient, [&](const json& event) -> Status {
    if (event.contains("error")) return error_from_json(event["error"], 0);
    if (event.contains("progress")) on_step(step_of(event["progress"]));
    if (event.contains("image")) image = event["image"];
    return {};
  }));
  if (!image.is_null()) return image;
  return infrastructure_error(ErrorCode::unavailable, kConnectionLost,
                              "the import's progress ended without a result; importing again is safe");
}

}  // namespace harena::client
