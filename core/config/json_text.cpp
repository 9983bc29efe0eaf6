#include "core/config/json_text.hpp"

#include <set>
#include <vector>

namespace harena {

using nlohmann::json;

namespace {

/// Follows the parser and notes the first key that comes twice in one object.
class Watcher {
 public:
  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    too_deep_ = too_deep_ || depth > kMaxJsonDepth;
    switch (event) {
      case json::parse_event_t::object_start: objects_.push_back({}); break;
      case json::parse_event_t::object_end: objects_.pop_back(); break;
      case json::parse_event_t::key: see(parsed.get<std::string>()); break;
      default: break;
    }
    return true;
  }
  const std::string& duplicate() const { return duplicate_; }
  bool too_deep() const { return too_deep_; }

 private:
  struct Object {
    std::set<std::string> keys;
    std::string current;
  };

  void see(const std::string& key) {
    objects_.back().current = key;
    if (objects_.back().keys.insert(key).second || !duplicate_.empty()) return;
    for (const auto& object : objects_) duplicate_ += (duplicate_.empty() ? "" : ".") + object.current;
  }

  std::vector<Object> objects_;
  std::string duplicate_;
  bool too_deep_ = false;
};

/// nlohmann's text begins with "[json.exception.parse_error.101] ", which tells a reader nothing.
std::string without_tag(const std::string& text) {
  const auto end = text.find("] ");
  return text.starts_with("[json.exception.") && end != std::string::npos ? text.substr(end + 2) : text;
}

Error invalid(std::string message) { return make_error(ErrorCode::invalid_argument, std::move(message)); }

Result<json> parse(std::string_view text, bool comments) {
  Watcher watcher;
  const auto watch = [&watcher](int depth, json::parse_event_t event, json& parsed) {
    return watcher(depth, event, parsed);
  };
  try {
    auto document = json::parse(text, watch, true, comments);
    if (watcher.too_deep()) return invalid("it is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
    if (watcher.duplicate().empty()) return document;
    return invalid("the key " + watcher.duplicate() + " is there twice; keep one of them");
  } catch (const json::exception& problem) {
    return invalid("it isn't JSON: " + without_tag(problem.what()));
  }
}

}  // namespace

Result<json> parse_commented_json(const std::string& text) { return parse(text, true); }

Result<json> parse_plain_json(std::string_view text) { return parse(text, false); }

}  // namespace harena
