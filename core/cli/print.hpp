#pragma once
// What reaches the user's terminal.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "sdk/base/result.hpp"

namespace harena::cli {

/// All of it, to descriptor 1 or 2. `cancelled` when nobody reads any more (a closed pipe), else as errno says.
Status write_all(int fd, std::string_view bytes);

/// One line on stdout.
Status print_line(std::string_view line);
/// Pretty JSON on stdout. Texts that aren't UTF-8 get U+FFFD.
Status print_json(const nlohmann::json& value);

/// Columns as wide as their widest cell; the last one isn't padded. Control characters of cells are shown as '?', so
/// that a sandbox's texts can't drive the terminal.
class Table {
 public:
  explicit Table(std::vector<std::string> titles);
  void add(std::vector<std::string> cells);
  Status print() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// "error: what was wrong", then what to do about it where that is known; as JSON with `as_json`. On stderr, once.
void print_error(const Error& error, bool as_json);

/// "5s", "12m", "3h", "2d"
std::string age(std::int64_t since_ms, std::int64_t now_ms);
/// "512 B", "1.5 MiB"
std::string human_size(std::int64_t bytes);

}  // namespace harena::cli
