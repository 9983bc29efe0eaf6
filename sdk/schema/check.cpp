#include <algorithm>
#include <cmath>
#include <limits>

#include "sdk/base/text.hpp"
#include "sdk/schema/node.hpp"

namespace harena::schema {
namespace {

constexpr std::size_t kMaxShownKey = 80;

// 64 bits of mantissa: exact for every 64-bit integer (x86-64; wider elsewhere).
long double as_real(const json& n) {
  if (n.is_number_unsigned()) return static_cast<long double>(n.get<std::uint64_t>());
  if (n.is_number_integer()) return static_cast<long double>(n.get<std::int64_t>());
  return static_cast<long double>(n.get<double>());
}

bool in_int64(const json& n) {
  long double value = as_real(n);
  return value >= static_cast<long double>(std::numeric_limits<std::int64_t>::min()) &&
         value <= static_cast<long double>(std::numeric_limits<std::int64_t>::max());
}

bool is_integral(const json& n) {
  return n.is_number_integer() || (n.is_number_float() && std::trunc(n.get<double>()) == n.get<double>());
}

bool has_type(const json& value, const std::string& type) {
  if (type == "integer") return value.is_number() && is_integral(value);
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  return type == value.type_name();
}

std::string with_article(const std::string& type) {
  if (type == "null") return type;
  bool vowel = std::string_view("aeio").find(type.front()) != std::string_view::npos;
  return (vowel ? "an " : "a ") + type;
}

std::string joined(const std::vector<std::string>& parts, std::string_view last) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " " + std::string(last) + " " : ", ";
    text += parts[i];
  }
  return text;
}

std::string number_text(const json& n) { return n.dump(); }

std::uint64_t code_points(const std::string& text) {
  return static_cast<std::uint64_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

// The check of one value at one place.
class Check {
 public:
  Check(const Node& node, json& value, const std::string& path, bool fill, std::vector<Problem>& out)
      : node_(node), value_(value), path_(path), fill_(fill), out_(out) {}

  void run() {
    if (node_.accepts_nothing) return say("isn't allowed here");
    if (!type_is_right()) return;
    check_values();
    if (value_.is_number()) check_number();
    if (value_.is_string()) check_string();
    if (value_.is_array()) check_array();
    if (value_.is_object()) check_object();
    if (!node_.any_of.empty()) check_any_of();
    if (!node_.one_of.empty()) check_one_of();
  }

 private:
  void say(std::string message) { out_.push_back({path_, std::move(message)}); }
  void say_value(const std::string& right) { say("is " + (node_.hidden ? "(hidden)" : shown(value_)) + "; " + right); }

  bool type_is_right() {
    if (node_.types.empty()) return true;
    auto match = std::ranges::find_if(node_.types, [&](const auto& type) { return has_type(value_, type); });
    if (match == node_.types.end()) {
      std::vector<std::string> names;
      for (const auto& type : node_.types) names.push_back(with_article(type));
      say_value(joined(names, "or") + " is right");
      return false;
    }
    return *match != "integer" || integer_is_right();
  }
  bool integer_is_right() {
    if (!in_int64(value_)) return say_value("an integer of 64 bits is right"), false;
    if (value_.is_number_float()) value_ = static_cast<std::int64_t>(value_.get<double>());
    return true;
  }

  void check_values() {
    if (node_.constant && value_ != *node_.constant) say_value(shown(*node_.constant) + " is right");
    if (!node_.allowed || std::ranges::find(*node_.allowed, value_) != node_.allowed->end()) return;
    std::vector<std::string> names, texts;
    for (const auto& one : *node_.allowed) {
      names.push_back(shown(one));
      if (one.is_string()) texts.push_back(one);
    }
    std::string right = joined(names, "or") + " is right";
    auto near = value_.is_string() && !node_.hidden ? nearest(value_.get<std::string>(), texts) : std::nullopt;
    say_value(right + (near ? ", did you mean '" + *near + "'?" : ""));
  }

  void check_number() {
    long double n = as_real(value_);
    if (node_.minimum && n < as_real(*node_.minimum)) say_value("at least " + number_text(*node_.minimum) + " is right");
    if (node_.maximum && n > as_real(*node_.maximum)) say_value("at most " + number_text(*node_.maximum) + " is right");
    if (node_.exclusive_minimum && n <= as_real(*node_.exclusive_minimum)) {
      say_value("more than " + number_text(*node_.exclusive_minimum) + " is right");
    }
    if (node_.exclusive_maximum && n >= as_real(*node_.exclusive_maximum)) {
      say_value("less than " + number_text(*node_.exclusive_maximum) + " is right");
    }
    if (node_.multiple_of && std::fmod(n, as_real(*node_.multiple_of)) != 0) {
      say_value("a multiple of " + number_text(*node_.multiple_of) + " is right");
    }
  }

  void check_string() {
    const auto& text = value_.get_ref<const std::string&>();
    check_count(code_points(text), node_.min_length, node_.max_length, "characters");
    if (!node_.pattern) return;
    if (text.size() > kMaxPatternInput) {
      return say("has " + std::to_string(text.size()) + " bytes; at most " + std::to_string(kMaxPatternInput) + " are right");
    }
    if (!std::regex_search(text, node_.pattern->regex)) {
      say_value("something that matches " + node_.pattern->text + " is right");
    }
  }

  void check_count(std::uint64_t n, std::optional<std::uint64_t> least, std::optional<std::uint64_t> most,
                   const std::string& unit) {
    if (least && n < *least) say("has " + std::to_string(n) + " " + unit + "; at least " + std::to_string(*least) + " are right");
    if (most && n > *most) say("has " + std::to_string(n) + " " + unit + "; at most " + std::to_string(*most) + " are right");
  }

  void check_array() {
    check_count(value_.size(), node_.min_items, node_.max_items, "items");
    for (std::size_t i = 0; node_.items && i < value_.size(); ++i) {
      check_node(*node_.items, value_[i], path_ + "[" + std::to_string(i) + "]", fill_, out_);
    }
    if (!node_.unique_items) return;
    auto sorted = value_.get<std::vector<json>>();
    std::ranges::sort(sorted);
    auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end()) say("has " + shown(*twice) + " twice; once is right");
  }

  std::string below(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  void check_object() {
    check_count(value_.size(), node_.min_properties, node_.max_properties, "keys");
    for (auto& [key, member] : value_.items()) check_member(key, member);
    for (const auto& key : node_.required) {
      if (!value_.contains(key) && !has_default(key)) out_.push_back({below(key), "is missing" + wanted(key)});
    }
    if (fill_) fill_defaults();
  }
  void check_member(const std::string& key, json& member) {
    if (node_.property_names) {
      json name = key;
      check_node(*node_.property_names, name, "the key " + below(key), false, out_);
    }
    auto known = node_.properties.find(key);
    if (known != node_.properties.end()) return check_node(*known->second, member, below(key), fill_, out_);
    if (!node_.additional) return;
    if (!node_.additional->accepts_nothing) return check_node(*node_.additional, member, below(key), fill_, out_);
    if (key.size() > kMaxShownKey) {  // neither repeated nor compared: it may be megabytes
      return out_.push_back({below(key.substr(0, kMaxShownKey) + "..."), "isn't known"});
    }
    std::vector<std::string> keys;
    for (const auto& entry : node_.properties) keys.push_back(entry.first);
    out_.push_back({below(key), "isn't known" + (keys.empty() ? "; no key is" : suggestion(key, keys))});
  }
  bool has_default(const std::string& key) const {
    auto known = node_.properties.find(key);
    return fill_ && known != node_.properties.end() && known->second->default_value;
  }
  std::string wanted(const std::string& key) const {
    auto known = node_.properties.find(key);
    if (known == node_.properties.end() || known->second->types.empty()) return "";
    return "; " + with_article(known->second->types.front()) + " is right";
  }
  void fill_defaults() {
    for (const auto& [key, part] : node_.properties) {
      if (value_.contains(key) || !part->default_value) continue;
      value_[key] = *part->default_value;
      check_node(*part, value_[key], below(key), true, out_);  // an object's own defaults
    }
  }

  // Problems of each form; a form whose problems are none is put into value_ with its defaults.
  struct Forms {
    std::size_t matches = 0;
    std::vector<Problem> nearest;
    json filled;
  };
  Forms try_forms(const std::vector<NodePtr>& forms) const {
    Forms result;
    std::size_t best = std::numeric_limits<std::size_t>::max();
    for (const auto& form : forms) {
      json copy = value_;
      std::vector<Problem> problems;
      check_node(*form, copy, path_, fill_, problems);
      if (problems.empty() && result.matches++ == 0) result.filled = std::move(copy);
      std::size_t distance = distance_of(*form, problems);
      if (distance < best) best = distance, result.nearest = std::move(problems);
    }
    return result;
  }
  // A form whose type or whose constant member is another's is far, however few its problems are.
  std::size_t distance_of(const Node& form, const std::vector<Problem>& problems) const {
    std::size_t distance = problems.size();
    bool type_fits = form.types.empty() || std::ranges::any_of(form.types, [&](auto& t) { return has_type(value_, t); });
    if (!type_fits) distance += 1000;
    for (const auto& [key, part] : form.properties) {
      if (part->constant && value_.is_object() && value_.contains(key) && value_[key] != *part->constant) distance += 100;
    }
    return distance;
  }
  void check_any_of() {
    Forms forms = try_forms(node_.any_of);
    if (forms.matches == 0) return say_nearest(forms, node_.any_of.size());
    if (fill_) value_ = std::move(forms.filled);
  }
  void check_one_of() {
    Forms forms = try_forms(node_.one_of);
    if (forms.matches == 0) return say_nearest(forms, node_.one_of.size());
    if (forms.matches > 1) return say("fits " + std::to_string(forms.matches) + " forms; exactly one is right");
    if (fill_) value_ = std::move(forms.filled);
  }
  void say_nearest(const Forms& forms, std::size_t count) {
    say("fits none of " + std::to_string(count) + " forms; of the nearest: " + forms.nearest.front().text());
  }

  const Node& node_;
  json& value_;
  const std::string& path_;
  bool fill_;
  std::vector<Problem>& out_;
};

}  // namespace

std::string shown(const json& value) {
  constexpr std::size_t kMost = 80;
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (value.is_string() && text.size() >= 2) text = "'" + text.substr(1, text.size() - 2) + "'";
  if (text.size() <= kMost) return text;
  std::size_t cut = kMost;
  while (cut > 0 && (text[cut] & 0xC0) == 0x80) --cut;
  return text.substr(0, cut) + "...";
}

void check_node(const Node& node, json& value, const std::string& path, bool fill, std::vector<Problem>& out) {
  Check(node, value, path, fill, out).run();
}

}  // namespace harena::schema
