#include "core/api/image_import.hpp"

#include <fcntl.h>

#include <boost/asio/post.hpp>

#include <deque>
#include <mutex>

#include "core/api/image_access.hpp"
#include "core/api/image_json.hpp"
#include "core/image/archive_kind.hpp"
#include "core/model/json_fields.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/http/async_event.hpp"
#include "sdk/http/error.hpp"
#include "sdk/http/ndjson.hpp"

namespace harena {

using http::Task;
using nlohmann::json;

namespace {

constexpr std::size_t kUploadBlock = 256 * 1024;

/// Between the worker that imports and the coroutine that writes the answer.
class Lines {
 public:
  void push(json line) {
    {
      std::lock_guard lock(mutex_);
      lines_.push_back(http::ndjson_line(line));
    }
    changed_.notify();
  }
  void finish() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify();
  }
  /// The next line; nullopt at the end.
  Task<std::optional<std::string>> next() {
    for (;;) {
      const auto seen = changed_.generation();
      {
        std::lock_guard lock(mutex_);
        if (!lines_.empty()) {
          std::string line = std::move(lines_.front());
          lines_.pop_front();
          co_return line;
        }
        if (done_) co_return std::nullopt;
      }
      co_await changed_.wait_past(seen);
    }
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> lines_;
  bool done_ = false;
  http::AsyncEvent changed_;
};

/// A client that goes away ends its import.
struct CancelOnExit {
  CancelFlag flag = std::make_shared<std::atomic<bool>>(false);
  ~CancelOnExit() { flag->store(true); }
};

/// {"docker": "docker://..."} -> the text of an ImportSource.
Result<std::string> source_text(const json& source) {
  JsonFields fields(source, "source");
  HARENA_TRY(const auto docker, fields.string("docker", ""));
  HARENA_TRY(const auto folder, fields.string("folder", ""));
  HARENA_TRY(const auto archive, fields.string("archive", ""));
  HARENA_TRY(const auto any, fields.string("from", ""));
  HARENA_TRY_STATUS(fields.boolean("insecure", false));
  HARENA_TRY_STATUS(fields.finish());
  const int given = !docker.empty() + !folder.empty() + !archive.empty() + !any.empty();
  if (given != 1) {
    return make_error(ErrorCode::invalid_argument,
                      "source must have exactly one of docker, folder, archive and from (such as oci-archive:/path)");
  }
  if (!docker.empty() && !docker.starts_with("docker://")) {
    return make_error(ErrorCode::invalid_argument, "source.docker is '" + docker + "'; it must begin with docker://");
  }
  if (!folder.empty()) return "dir:" + folder;
  if (!archive.empty()) {
    // Rights first: see parse_import. Only the form is told from the file here.
    HARENA_TRY(const auto kind, image::detect_archive(archive));
    const bool is_tar = kind == image::SourceKind::tar;
    return (is_tar ? "tar:" : kind == image::SourceKind::docker_archive ? "docker-archive:" : "oci-archive:") + archive;
  }
  return docker.empty() ? any : docker;
}

Status write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return errno_error(errno, "keeping the uploaded archive");
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return ok_status();
}

/// Before the stream begins, so that a wrong path is an answer with a status.
Status check_readable(const std::string& path) {
  if (::access(path.c_str(), R_OK) == 0) return ok_status();
  return errno_error(errno, "the source '" + path + "' on the server's machine");
}

json outcome_line(const Result<image::Imported>& imported, const std::string& reference) {
  if (!imported.ok()) return http::error_document(imported.error());
  json image = image_json(reference, {imported->digest, imported->manifest});
  image["notes"] = imported->notes;
  return {{"image", std::move(image)}};
}

}  // namespace

Result<image::ImportRequest> parse_import(ApiServices& services, const Principal& principal, const json& body) {
  JsonFields fields(body, "the import request");
  HARENA_TRY(const auto reference, fields.string("reference", ""));
  HARENA_TRY(const auto kind, fields.string("kind", "base"));
  HARENA_TRY(const auto source, fields.object("source"));
  HARENA_TRY_STATUS(fields.finish());
  HARENA_TRY(auto parsed, permitted_image(services.iam, principal, Permission::image_write, reference));
  if (source.contains("archive")) {
    HARENA_TRY_STATUS(services.iam.authorize(principal, Permission::admin, ProjectPath::root()));
  }
  HARENA_TRY(const auto text, source_text(source));
  HARENA_TRY(auto from, image::ImportSource::parse(text));
  if (from.kind != image::SourceKind::registry) {
    HARENA_TRY_STATUS(services.iam.authorize(principal, Permission::admin, ProjectPath::root()));
    HARENA_TRY_STATUS(check_readable(from.location));
  }
  image::ImportRequest request{.source = std::move(from), .reference = std::move(parsed)};
  HARENA_TRY(request.kind, image::image_kind_from_string(kind));
  request.insecure = source.value("insecure", false);
  return request;
}

Task<Result<image::ImportRequest>> receive_archive(ApiServices& services, ApiCall& call,
                                                   const std::filesystem::path& into) {
  HARENA_CO_TRY(const auto query, call.request.query());
  const std::string text(query.get("reference").value_or(""));
  HARENA_CO_TRY(auto reference, permitted_image(services.iam, call.principal, Permission::image_write, text));
  HARENA_CO_TRY(const auto kind, image::image_kind_from_string(query.get("kind").value_or("base")));
  const auto path = into / "archive";
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) co_return errno_error(errno, "keeping the uploaded archive");
  std::vector<std::byte> block(kUploadBlock);
  for (;;) {
    HARENA_CO_TRY(const auto got, co_await call.request.read(block));
    if (got == 0) break;
    const auto part = std::span(block).first(got);
    HARENA_CO_TRY_STATUS(co_await http::blocking(services.workers, [&] { return write_all(file.get(), part); }));
  }
  HARENA_CO_TRY(const auto form, co_await http::blocking(services.workers, [&] { return image::detect_archive(path); }));
  image::ImportSource source{.kind = form, .location = path.string()};
  co_return image::ImportRequest{.source = std::move(source), .reference = std::move(reference), .kind = kind};
}

Task<Result<Reply>> run_import(ApiServices& services, ApiCall& call, image::ImportRequest request) {
  HARENA_CO_TRY_STATUS(co_await http::begin_ndjson(call.response));
  const CancelOnExit cancel;
  auto lines = std::make_shared<Lines>();
  CallContext context = call.context;
  context.cancel = cancel.flag;
  context.progress = [lines](const json& progress) { lines->push({{"progress", progress}}); };
  boost::asio::post(services.workers, [&services, lines, context, request = std::move(request)] {
    lines->push(outcome_line(services.images.importer.import(context, request), request.reference.str()));
    lines->finish();
  });
  while (auto line = co_await lines->next()) {
    HARENA_CO_TRY_STATUS(co_await call.response.write(*line));
  }
  HARENA_CO_TRY_STATUS(co_await call.response.finish());
  co_return Reply::already_sent();
}

}  // namespace harena
