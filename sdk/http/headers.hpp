#pragma once
// Header fields: ordered, multi-valued, names compared without case.

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harena::http {

/// ASCII only, as HTTP means it.
bool iequals(std::string_view a, std::string_view b);
/// A token of RFC 9110 5.6.2: methods and field names.
bool is_token(std::string_view text);

class Headers {
 public:
  struct Field {
    std::string name;
    std::string value;
  };

  Headers() = default;
  Headers(std::initializer_list<Field> fields) : fields_(fields) {}

  /// Appends; fields of the same name keep their order.
  void add(std::string name, std::string value);
  /// Replaces all fields of that name by one.
  void set(std::string_view name, std::string value);
  /// How many were removed.
  std::size_t remove(std::string_view name);
  void clear() { fields_.clear(); }

  /// The first value; nullopt if there is none. Valid until the next change.
  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> get_all(std::string_view name) const;
  std::size_t count(std::string_view name) const;
  bool contains(std::string_view name) const { return get(name).has_value(); }
  /// The elements of all fields of that name, each a comma-separated list; trimmed, none empty.
  std::vector<std::string_view> tokens(std::string_view name) const;
  /// Whether `token` is one of them, compared without case: `has_token("Connection", "upgrade")`.
  bool has_token(std::string_view name, std::string_view token) const;

  /// Whether every name is a token and no value has CR, LF or NUL: what may go out on a wire.
  bool valid() const;

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }

 private:
  std::vector<Field> fields_;
};

/// Removes what concerns one connection only: Connection and all it names, Keep-Alive, Proxy-Connection, TE,
/// Transfer-Encoding, Upgrade (RFC 9110 7.6.1). Trailer stays, for trailers are forwarded.
void remove_hop_by_hop(Headers& headers);

}  // namespace harena::http
