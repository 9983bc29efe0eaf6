#pragma once
// Files in a sandbox. Paths are absolute and any bytes but zero.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "sdk/client/client.hpp"

namespace harena::client {

struct FileStat {
  std::string name;
  std::string path;
  std::string type;  // file dir symlink fifo socket char block
  std::int64_t size = 0;
  unsigned mode = 0;  // permission bits, 07777
  std::string target;  // of a symlink
  json raw;

  static FileStat from_json(const json& body);
};

class Files {
 public:
  /// Fills the buffer and returns how much of it, 0 at the end.
  using Source = std::function<Result<std::size_t>(char* buffer, std::size_t size)>;

  Files(Client& client, std::string_view sandbox_id);

  /// From its first byte to its last. A lost connection is taken up where it broke, unless the file changed meanwhile
  /// (`data_loss`).
  Status read(const std::string& path, const Connection::Sink& sink);
  /// Replaces the file atomically. `make_source` is asked again for each try.
  Status write(const std::string& path, unsigned mode, const std::function<Result<Source>()>& make_source);
  /// The content of a folder as a tar stream, once: it can't be taken up in the middle. A stream that was cut off may end without
  /// an error; the archive's own end says whether it is whole.
  Status read_archive(const std::string& path, const Connection::Sink& sink);
  /// A tar stream into a folder that is there; repeated from its beginning when it broke. `make_source` is asked again for each try.
  Status write_archive(const std::string& path, const std::function<Result<Source>()>& make_source);
  /// Doesn't follow a symlink.
  Result<FileStat> stat(const std::string& path, bool follow = false);
  /// What is below a folder, a folder before what is in it.
  Status list(const std::string& path, bool recursive, const std::function<Status(const FileStat&)>& on_entry);
  /// As mkdir -p.
  Status mkdir(const std::string& path, std::optional<unsigned> mode);
  /// Replaces a link or file that is there.
  Status symlink(const std::string& path, const std::string& target);
  Status chmod(const std::string& path, unsigned mode);
  Status remove(const std::string& path);

 private:
  Status put(const std::string& where, const char* content_type, const std::function<Result<Source>()>& make_source);
  std::string target(const char* verb, const std::string& path) const;
  Client& client_;
  std::string path_;
};

/// "0644"
std::string octal(unsigned mode);

}  // namespace harena::client
