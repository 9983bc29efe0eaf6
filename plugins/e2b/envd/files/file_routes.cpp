#include "plugins/e2b/envd/files/file_routes.hpp"

#include <set>

#include "plugins/e2b/envd/files/body_filters.hpp"
#include "plugins/e2b/envd/files/entry.hpp"
#include "plugins/e2b/envd/files/file_upload.hpp"
#include "plugins/e2b/envd/http/rest_answer.hpp"

namespace harena::e2b {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kFileBlockBytes = 256 * 1024;
constexpr std::size_t kMaxComposeBytes = 1 << 20;

/// What of the request decides about the part and the age of a file.
http::Headers conditions(const http::Request& request, Coding coding) {
  http::Headers out;
  for (const auto* name : {"Range", "If-Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}) {
    const bool range = std::string_view(name).ends_with("Range");
    if (range && coding == Coding::gzip) continue;
    if (const auto value = request.header(name)) out.add(name, std::string(*value));
  }
  return out;
}

http::Headers file_headers(const http::ResponseHead& head, const std::string& path, std::string_view first) {
  http::Headers out;
  for (const auto* name : {"Last-Modified", "ETag", "Accept-Ranges", "Content-Range"}) {
    if (const auto value = head.headers.get(name)) out.add(name, std::string(*value));
  }
  out.add("Content-Type", media_type(base_name(path), first));
  out.add("Content-Disposition", content_disposition(base_name(path)));
  out.add("Vary", "Accept-Encoding");
  return out;
}

Task<Status> copy_plain(EnvdCall& call, std::vector<std::byte>& block, std::size_t count) {
  const std::span<std::byte> all(block);
  while (count > 0) {
    HARENA_CO_TRY_STATUS(co_await call.response.write(std::span<const std::byte>(all.first(count))));
    HARENA_CO_TRY(count, co_await call.api.read(all));
  }
  co_return co_await call.response.finish();
}

Task<Status> copy_gzip(EnvdCall& call, std::vector<std::byte>& block, std::size_t count) {
  const std::span<std::byte> all(block);
  GzipWriter writer;
  for (;;) {
    std::string packed;
    HARENA_CO_TRY_STATUS(writer.step({reinterpret_cast<const char*>(block.data()), count}, packed, count == 0));
    if (!packed.empty()) {
      HARENA_CO_TRY_STATUS(co_await call.response.write(packed));
    }
    if (count == 0) co_return co_await call.response.finish();
    HARENA_CO_TRY(count, co_await call.api.read(all));
  }
}

Task<Status> relay_file(EnvdCall& call, const http::ResponseHead& head, const std::string& path, Coding coding) {
  std::vector<std::byte> block(kFileBlockBytes);
  const std::span<std::byte> all(block);
  HARENA_CO_TRY(const auto count, co_await call.api.read(all));
  auto headers = file_headers(head, path, {reinterpret_cast<const char*>(block.data()), std::min<std::size_t>(count, 512)});
  if (coding == Coding::gzip && head.status == 200) {
    headers.remove("ETag");  // of other bytes
    headers.remove("Accept-Ranges");
    headers.add("Content-Encoding", "gzip");
    HARENA_CO_TRY_STATUS(co_await call.response.begin(200, std::move(headers)));
    co_return co_await copy_gzip(call, block, count);
  }
  if (head.status == 200 && count == 0) co_return co_await call.response.send(200, std::move(headers), "");
  HARENA_CO_TRY_STATUS(co_await call.response.begin(head.status, std::move(headers), head.length));
  co_return co_await copy_plain(call, block, count);
}

Task<Status> refuse_file(EnvdCall& call, const http::ResponseHead& head, const std::string& path) {
  auto error = co_await call.api.error_of(head);
  if (error.code == ErrorCode::not_found) error.message = "path '" + as_utf8(path) + "' does not exist";
  if (head.status == 416) co_return co_await send_rest_error(call.response, 416, std::move(error.message));
  if (head.status == 412) co_return co_await send_rest_error(call.response, 412, std::move(error.message));
  if (error.code != ErrorCode::failed_precondition) co_return error;
  auto stat = co_await stat_file(call, path, true);
  const bool folder = stat && stat->value("type", "") == "dir";
  if (folder) error.message = "path '" + as_utf8(path) + "' is a directory";
  co_return error;
}

/// The user of the query, who has to be one of the sandbox.
Task<Status> take_user(EnvdCall& call, const http::Query& query) {
  const auto name = query.get("username").value_or("");
  if (name.empty()) co_return ok_status();
  call.as_user(std::string(name));
  HARENA_CO_TRY(const auto user, co_await call.account());
  co_return ok_status();
}

Task<Result<json>> take_octets(EnvdCall& call, http::BodySource& body, std::string path, Metadata metadata) {
  if (path.empty()) co_return make_error(ErrorCode::invalid_argument, "the query has no path: an octet stream doesn't say where it goes");
  HARENA_CO_TRY(const auto upload, co_await prepare_upload(call, std::move(path), std::move(metadata)));
  HARENA_CO_TRY_STATUS(co_await store_upload(call, upload, body));
  co_return json::array({upload_answer(upload)});
}

Task<Result<json>> take_parts(EnvdCall& call, http::BodySource& body, std::string path, Metadata metadata) {
  HARENA_CO_TRY(const auto boundary, multipart_boundary(call.request.header("Content-Type").value_or("")));
  MultipartBody parts(body, boundary);
  std::set<std::string> seen;
  json answers = json::array();
  for (;;) {
    HARENA_CO_TRY(auto part, co_await parts.next_part());
    if (!part) break;
    if (part->name != "file") continue;
    auto wish = path.empty() ? part->filename.value_or("") : path;
    if (wish.empty()) co_return make_error(ErrorCode::invalid_argument, "a part has no filename and the query no path");
    HARENA_CO_TRY(const auto upload, co_await prepare_upload(call, std::move(wish), metadata));
    if (!seen.insert(upload.path).second) {
      co_return make_error(ErrorCode::invalid_argument, "you cannot upload multiple files to the same path: " + as_utf8(upload.path));
    }
    HARENA_CO_TRY_STATUS(co_await store_upload(call, upload, parts));
    answers.push_back(upload_answer(upload));
  }
  co_return answers;
}

bool is_multipart(const http::Request& request) {
  const auto type = request.header("Content-Type").value_or("");
  return !http::iequals(type.substr(0, type.find(';')), "application/octet-stream");
}

Task<Result<json>> take_files(EnvdCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY_STATUS(co_await take_user(call, query));
  HARENA_CO_TRY(auto metadata, metadata_of(call.request.headers()));
  std::string path(query.get("path").value_or(""));
  RequestBody plain(call.request);
  GunzipBody unpacked(plain);
  const auto coding = call.request.header("Content-Encoding").value_or("identity");
  const bool packed = http::iequals(coding, "gzip");
  if (!packed && !http::iequals(coding, "identity")) {
    co_return make_error(ErrorCode::invalid_argument, "Content-Encoding '" + std::string(coding) + "'; gzip and identity are known");
  }
  http::BodySource* body = &plain;
  if (packed) body = &unpacked;
  if (is_multipart(call.request)) co_return co_await take_parts(call, *body, std::move(path), std::move(metadata));
  co_return co_await take_octets(call, *body, std::move(path), std::move(metadata));
}

Task<Status> open_file(EnvdCall& call) {
  HARENA_CO_TRY(const auto query, call.request.query());
  HARENA_CO_TRY_STATUS(co_await take_user(call, query));
  const auto coding = wanted_coding(call.request.headers());
  if (coding == Coding::none) co_return co_await send_rest_error(call.response, 406, "no acceptable encoding; gzip and identity are offered");
  HARENA_CO_TRY(const auto path, co_await call.path(std::string(query.get("path").value_or(""))));
  auto target = call.file_target("", path);
  HARENA_CO_TRY(const auto head, co_await call.api.open(std::move(target), conditions(call.request, coding)));
  if (head.status == 304) {
    auto headers = file_headers(head, path, "");
    headers.remove("Content-Type");
    co_return co_await call.response.send(304, std::move(headers), "");
  }
  if (head.status >= 400) co_return co_await refuse_file(call, head, path);
  co_return co_await relay_file(call, head, path, coding);
}

Task<Result<json>> compose(EnvdCall& call) {
  HARENA_CO_TRY(const auto text, co_await call.request.read_all(kMaxComposeBytes));
  const auto body = json::parse(text, nullptr, false);
  const bool fits = body.is_object() && body.contains("source_paths") && body["source_paths"].is_array() && !body["source_paths"].empty() &&
                    body.contains("destination") && body["destination"].is_string();
  if (!fits) co_return make_error(ErrorCode::invalid_argument, "the body isn't {\"source_paths\": [...], \"destination\": \"...\"}");
  if (body.contains("username") && body["username"].is_string()) call.as_user(body["username"].get<std::string>());
  std::vector<std::string> sources;
  for (const auto& source : body["source_paths"]) {
    if (!source.is_string()) co_return make_error(ErrorCode::invalid_argument, "a source path isn't text");
    HARENA_CO_TRY(auto path, co_await call.path(source.get<std::string>()));
    auto stat = co_await stat_file(call, path, true);
    if (!stat) co_return std::move(stat).error();
    if (stat->value("type", "") != "file") co_return make_error(ErrorCode::invalid_argument, "not a file: " + as_utf8(path));
    sources.push_back(std::move(path));
  }
  Metadata none;
  HARENA_CO_TRY(const auto upload, co_await prepare_upload(call, body["destination"].get<std::string>(), std::move(none)));
  SandboxCall reader(call.sandbox, call.api.client());
  FilesBody joined(reader, sources);
  HARENA_CO_TRY_STATUS(co_await store_upload(call, upload, joined));
  for (const auto& source : std::set<std::string>(sources.begin(), sources.end())) {
    if (source == upload.path) continue;
    HARENA_CO_TRY(const auto removed, co_await call.api.ask("DELETE", call.file_target("", source)));
  }
  co_return upload_answer(upload);
}

Task<Status> answer_json(EnvdCall& call, Result<json> outcome) {
  if (outcome) co_return co_await send_rest_json(call.response, 200, std::move(*outcome));
  co_return co_await send_rest_error(call.response, std::move(outcome).error());
}

}  // namespace

Result<SignedUrl> signed_url(const http::Request& request) {
  HARENA_TRY(const auto query, request.query());
  SignedUrl url;
  url.path = query.get("path").value_or("");
  url.operation = request.method() == "POST" ? FileOperation::write : FileOperation::read;
  url.user = query.get("username").value_or("");
  url.signature = query.get("signature").value_or("");
  url.expiration = query.get("signature_expiration").value_or("");
  return url;
}

Task<Status> get_file(EnvdCall& call) {
  auto outcome = co_await open_file(call);
  if (outcome.ok() || call.response.begun()) co_return outcome;
  co_return co_await send_rest_error(call.response, std::move(outcome).error());
}

Task<Status> post_files(EnvdCall& call) {
  auto outcome = co_await take_files(call);
  co_return co_await answer_json(call, std::move(outcome));
}

Task<Status> compose_files(EnvdCall& call) {
  auto outcome = co_await compose(call);
  co_return co_await answer_json(call, std::move(outcome));
}

}  // namespace harena::e2b
