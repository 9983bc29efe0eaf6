#include "sdk/http/headers.hpp"

#include <algorithm>

namespace harena::http {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

bool is_token_char(char c) {
  const auto low = lower(c);
  if ((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9')) return true;
  return c != 0 && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

void append_list(std::string_view list, std::vector<std::string_view>& out) {
  while (true) {
    const auto comma = list.find(',');
    const auto element = trim(list.substr(0, comma));
    if (!element.empty()) out.push_back(element);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

bool iequals(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_char);
}

void Headers::add(std::string name, std::string value) {
  fields_.push_back({std::move(name), std::move(value)});
}

void Headers::set(std::string_view name, std::string value) {
  std::string copy(name);  // `name` may be part of a field
  remove(copy);
  add(std::move(copy), std::move(value));
}

std::size_t Headers::remove(std::string_view name) {
  return std::erase_if(fields_, [&](const Field& field) { return iequals(field.name, name); });
}

std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const auto& field : fields_) {
    if (iequals(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::get_all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& field : fields_) {
    if (iequals(field.name, name)) values.push_back(field.value);
  }
  return values;
}

std::size_t Headers::count(std::string_view name) const {
  return static_cast<std::size_t>(std::count_if(
      fields_.begin(), fields_.end(), [&](const Field& field) { return iequals(field.name, name); }));
}

std::vector<std::string_view> Headers::tokens(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const auto& field : fields_) {
    if (iequals(field.name, name)) append_list(field.value, out);
  }
  return out;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  const auto all = tokens(name);
  return std::any_of(all.begin(), all.end(), [&](auto element) { return iequals(element, token); });
}

bool Headers::valid() const {
  constexpr std::string_view kForbidden("\r\n\0", 3);
  return std::all_of(fields_.begin(), fields_.end(), [&](const Field& field) {
    return is_token(field.name) && field.value.find_first_of(kForbidden) == std::string::npos;
  });
}

void remove_hop_by_hop(Headers& headers) {
  std::vector<std::string> named;
  for (const auto token : headers.tokens("Connection")) named.emplace_back(token);
  for (const auto& name : named) headers.remove(name);
  for (const auto* name :
       {"Connection", "Keep-Alive", "Proxy-Connection", "TE", "Transfer-Encoding", "Upgrade"}) {
    headers.remove(name);
  }
}

}  // namespace harena::http
