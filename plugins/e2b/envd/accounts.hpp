#pragma once
// The users and groups of a sandbox, from its own /etc/passwd and /etc/group: names, numbers and homes. Pure.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sdk/base/result.hpp"

namespace harena::e2b {

struct Account {
  std::string name;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  /// Absolute; "/" when the file names none.
  std::string home;
  bool operator==(const Account&) const = default;
};

/// Lines that aren't well formed are skipped: the agent may have written these files.
class Accounts {
 public:
  static Accounts parse(std::string_view passwd, std::string_view group);
  /// unauthenticated, as E2B answers a user that there isn't.
  Result<Account> find(std::string_view name) const;
  /// The number as text when there is no name.
  std::string user_name(std::uint32_t uid) const;
  std::string group_name(std::uint32_t gid) const;

 private:
  struct Group {
    std::string name;
    std::uint32_t gid;
  };
  std::vector<Account> users_;
  std::vector<Group> groups_;
};

/// An absolute path without `.`, `..` and double slashes. Empty is the user's working folder (`folder`, else its home); `~` and
/// `~/x` are in the home; relative ones in the working folder. invalid_argument for a zero byte and for the home of others (`~x`).
Result<std::string> expand_path(std::string_view path, const Account& user, std::string_view folder);
/// Lexically: "/a/../b//c/." is "/b/c". Precondition: absolute.
std::string clean_path(std::string_view path);
/// "/" for "/a" and for "/".
std::string parent_path(std::string_view path);
/// "c" of "/b/c"; "/" of "/".
std::string base_name(std::string_view path);
/// Bytes that aren't UTF-8 become U+FFFD: what protobuf and JSON can hold.
std::string as_utf8(std::string_view bytes);

}  // namespace harena::e2b
