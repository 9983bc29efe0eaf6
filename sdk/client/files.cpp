#include "sdk/client/files.hpp"

#include <cstdlib>

namespace harena::client {

namespace {

/// Remembers how far a read got and which version of the file it was reading.
struct ReadProgress {
  std::int64_t position = 0;
  std::string tag;

  Status on_head(const Response& head) {
    const auto found = head.headers.find("etag");
    const auto now = found == head.headers.end() ? "" : found->second;
    if (position > 0 && head.status != 206) {
      return make_error(ErrorCode::data_loss, "the server sent the whole file where the rest of it was asked for");
    }
    if (position > 0 && now != tag) {
      return make_error(ErrorCode::data_loss, "the file was changed while it was being read; read it again");
    }
    tag = now;
    return {};
  }
};

}  // namespace

std::string octal(unsigned mode) {
  std::string text = "0000";
  for (std::size_t digit = text.size(); digit-- > 0; mode >>= 3) text[digit] = static_cast<char>('0' + (mode & 7));
  return text;
}

FileStat FileStat::from_json(const json& body) {
  FileStat stat;
  stat.name = get_bytes(body, "name").value_or("");
  stat.path = get_bytes(body, "path").value_or("");
  stat.type = text_or(body, "type");
  if (const auto size = body.find("size"); size != body.end() && size->is_number()) stat.size = size->get<std::int64_t>();
  stat.mode = static_cast<unsigned>(std::strtoul(text_or(body, "mode", "0").c_str(), nullptr, 8));
  stat.target = get_bytes(body, "target").value_or("");
  stat.raw = body;
  return stat;
}

Files::Files(Client& client, std::string_view sandbox_id)
    : client_(client), path_("/sandboxes/" + segment(sandbox_id) + "/files") {}

std::string Files::target(const char* verb, const std::string& path) const { return path_ + verb + query({{"path", path}}); }

Status Files::read(const std::string& path, const Connection::Sink& sink) {
  ReadProgress progress;
  auto tries = client_.stream_attempts();
  while (true) {
    Request request{.target = target("", path)};
    if (progress.position > 0) request.headers.emplace_back("Range", "bytes=" + std::to_string(progress.position) + "-");
    const auto answer = client_.connection().stream(
        request,
        [&](std::string_view bytes) {
          progress.position += static_cast<std::int64_t>(bytes.size());
          tries.reset();
          return sink(bytes);
        },
        [&](const Response& head) { return progress.on_head(head); });
    if (answer.ok()) return {};
    if (answer.error().code == ErrorCode::out_of_range && progress.position > 0) return {};  // it broke exactly at the end
    if (!tries.again(answer.error(), true)) return answer.error();
  }
}

Status Files::write(const std::string& path, unsigned mode, const std::function<Result<Source>()>& make_source) {
  return put(path_ + query({{"path", path}, {"mode", octal(mode & 07777)}}), "application/octet-stream", make_source);
}

Status Files::read_archive(const std::string& path, const Connection::Sink& sink) {
  HARENA_TRY_STATUS(client_.connection().stream({.target = target("/archive", path)}, sink));
  return {};
}

Status Files::write_archive(const std::string& path, const std::function<Result<Source>()>& make_source) {
  return put(target("/archive", path), "application/x-tar", make_source);
}

Status Files::put(const std::string& where, const char* content_type, const std::function<Result<Source>()>& make_source) {
  auto tries = client_.stream_attempts();
  while (true) {
    Request request{.method = "PUT", .target = where};
    request.content_type = content_type;
    HARENA_TRY(request.source, make_source());
    const auto answer = client_.connection().call(request);
    if (answer.ok()) return {};
    if (!tries.again(answer.error(), true)) return answer.error();
  }
}

Result<FileStat> Files::stat(const std::string& path, bool follow) {
  const auto where = path_ + "/stat" + query({{"path", path}, {"follow", follow ? "true" : ""}});
  HARENA_TRY(const auto answer, client_.get(where));
  return FileStat::from_json(answer);
}

Status Files::list(const std::string& path, bool recursive, const std::function<Status(const FileStat&)>& on_entry) {
  const auto where = path_ + "/list" + query({{"path", path}, {"recursive", recursive ? "true" : ""}});
  return client_.pages(where, "entries", [&](const json& entry) { return on_entry(FileStat::from_json(entry)); });
}

Status Files::mkdir(const std::string& path, std::optional<unsigned> mode) {
  json body = {{"parents", true}};
  put_bytes(body, "path", path);
  if (mode) body["mode"] = octal(*mode);
  HARENA_TRY_STATUS(client_.post(path_ + "/mkdir", body, true));
  return {};
}

Status Files::symlink(const std::string& path, const std::string& target) {
  json body = json::object();
  put_bytes(body, "path", path);
  put_bytes(body, "target", target);
  auto made = client_.post(path_ + "/symlink", body, false);
  if (made.ok()) return {};
  if (made.error().code != ErrorCode::already_exists) return std::move(made).error();
  HARENA_TRY_STATUS(remove(path));
  HARENA_TRY_STATUS(client_.post(path_ + "/symlink", body, false));
  return {};
}

Status Files::chmod(const std::string& path, unsigned mode) {
  json body = {{"mode", octal(mode)}};
  put_bytes(body, "path", path);
  HARENA_TRY_STATUS(client_.post(path_ + "/chmod", body, true));
  return {};
}

Status Files::remove(const std::string& path) {
  HARENA_TRY_STATUS(client_.remove(target("", path)));
  return {};
}

}  // namespace harena::client
