#include "core/api/session/file_parts.hpp"

#include <vector>

namespace harena {

namespace {

constexpr std::size_t kBlockBytes = 256 << 10;

}  // namespace

Result<std::string> body_path(JsonFields& fields, const std::string& key) {
  HARENA_TRY(auto path, take_bytes(fields, key));
  if (path.empty()) return make_error(ErrorCode::invalid_argument, "'" + key + "' is required");
  if (path.front() != '/') return make_error(ErrorCode::invalid_argument, "'" + key + "' is '" + path + "', which isn't absolute");
  return path;
}

http::Task<Status> send_stat(http::ResponseWriter& response, Result<session::FileStat> stat) {
  if (!stat) co_return std::move(stat).error();
  co_return co_await response.send_json(200, to_json(*stat, true));
}

http::Task<Status> copy_body(http::Request& request, session::UploadStream& upload) {
  std::vector<std::byte> buffer(kBlockBytes);
  for (;;) {
    HARENA_CO_TRY(auto got, co_await request.read(buffer));
    if (got == 0) co_return ok_status();
    HARENA_CO_TRY_STATUS(co_await upload.write(std::string_view(reinterpret_cast<const char*>(buffer.data()), got)));
  }
}

http::Task<Status> copy_file(session::FileReader& reader, http::ResponseWriter& response) {
  std::vector<std::byte> buffer(kBlockBytes);
  for (;;) {
    HARENA_CO_TRY(auto got, co_await reader.read(buffer));
    if (got == 0) co_return co_await response.finish();
    HARENA_CO_TRY_STATUS(co_await response.write(std::span(buffer).first(got)));
  }
}

}  // namespace harena
