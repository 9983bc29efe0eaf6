#include "sdk/http/router.hpp"

#include <algorithm>

#include "sdk/base/text.hpp"
#include "sdk/http/error.hpp"

namespace harena::http {

struct Router::Node {
  std::map<std::string, std::unique_ptr<Node>, std::less<>> literals;
  std::unique_ptr<Node> parameter;
  std::unique_ptr<Node> rest;
  /// Of this node, if its parent reaches it by a parameter or the rest.
  std::string name;
  /// Method to index in routes_.
  std::map<std::string, std::size_t, std::less<>> methods;
};

struct Router::Match {
  std::vector<std::pair<std::string, std::string_view>> parameters;
  std::optional<std::pair<std::string, std::string_view>> rest;
};

namespace {

enum class SegmentKind { literal, parameter, rest };

struct Segment {
  SegmentKind kind;
  std::string text;
};

Error bad_pattern(const std::string& pattern, const char* what) {
  return make_error(ErrorCode::invalid_argument, "route pattern '" + pattern + "': " + what);
}

Result<Segment> parse_segment(const std::string& pattern, std::string_view text) {
  if (!text.starts_with('{')) return Segment{SegmentKind::literal, std::string(text)};
  if (!text.ends_with('}')) return bad_pattern(pattern, "a parameter must be a whole segment");
  auto name = text.substr(1, text.size() - 2);
  const auto kind = name.starts_with('*') ? SegmentKind::rest : SegmentKind::parameter;
  if (kind == SegmentKind::rest) name.remove_prefix(1);
  if (name.empty()) return bad_pattern(pattern, "a parameter needs a name");
  return Segment{kind, std::string(name)};
}

Result<std::vector<Segment>> parse_pattern(const std::string& pattern) {
  if (!pattern.starts_with('/')) return bad_pattern(pattern, "must begin with a slash");
  std::vector<Segment> segments;
  std::string_view left = std::string_view(pattern).substr(1);
  while (true) {
    if (!segments.empty() && segments.back().kind == SegmentKind::rest) {
      return bad_pattern(pattern, "nothing may follow the rest");
    }
    const auto slash = left.find('/');
    HARENA_TRY(auto segment, parse_segment(pattern, left.substr(0, slash)));
    segments.push_back(std::move(segment));
    if (slash == std::string_view::npos) return segments;
    left.remove_prefix(slash + 1);
  }
}

std::string allowed_methods(const std::map<std::string, std::size_t, std::less<>>& methods) {
  std::string list;
  for (const auto& [method, index] : methods) {
    list += (list.empty() ? "" : ", ") + method;
    if (method == "GET" && methods.count("HEAD") == 0) list += ", HEAD";
  }
  return list;
}

Task<Status> method_not_allowed(const Request& request, ResponseWriter& response, std::string allowed) {
  const auto error = make_error(ErrorCode::unimplemented, "method " + request.method() + " isn't allowed for " +
                                                              std::string(request.path()) + "; allowed: " + allowed);
  Headers headers;
  headers.add("Content-Type", "application/json");
  headers.add("Allow", allowed);
  const auto body = error_body(error);
  co_return co_await response.send(405, std::move(headers), body);
}

Task<Status> fail(Error error) { co_return std::move(error); }

}  // namespace

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;

Status Router::add(Route route) {
  HARENA_TRY(const auto segments, parse_pattern(route.pattern));
  auto* node = root_.get();
  for (const auto& segment : segments) {
    auto& next = segment.kind == SegmentKind::literal     ? node->literals[segment.text]
                 : segment.kind == SegmentKind::parameter ? node->parameter
                                                          : node->rest;
    if (!next) {
      next = std::make_unique<Node>();
      if (segment.kind != SegmentKind::literal) next->name = segment.text;
    }
    if (segment.kind != SegmentKind::literal && next->name != segment.text) {
      return bad_pattern(route.pattern, "a parameter is named differently in another route");
    }
    node = next.get();
  }
  if (!node->methods.emplace(route.method, routes_.size()).second) {
    return make_error(ErrorCode::already_exists, "route " + route.method + " " + route.pattern + " was added before");
  }
  routes_.push_back(std::move(route));
  return ok_status();
}

// `rest` is what follows the slash; at_end: there was none.
const Router::Node* Router::find(const Node& node, std::string_view rest, bool at_end, Match& match) const {
  if (at_end) {
    if (!node.methods.empty()) return &node;
    if (!node.rest) return nullptr;
    match.rest.emplace(node.rest->name, std::string_view());
    return node.rest.get();
  }
  const auto slash = rest.find('/');
  const auto segment = rest.substr(0, slash);
  const bool last = slash == std::string_view::npos;
  const auto after = last ? std::string_view() : rest.substr(slash + 1);
  const auto decoded = percent_decode(segment);
  const auto literal = decoded.ok() ? node.literals.find(*decoded) : node.literals.end();
  if (literal != node.literals.end()) {
    if (const auto* found = find(*literal->second, after, last, match)) return found;
  }
  if (node.parameter && !segment.empty()) {
    match.parameters.emplace_back(node.parameter->name, segment);
    if (const auto* found = find(*node.parameter, after, last, match)) return found;
    match.parameters.pop_back();
  }
  if (!node.rest) return nullptr;
  match.rest.emplace(node.rest->name, rest);
  return node.rest.get();
}

Task<Status> Router::route(Request& request, ResponseWriter& response) const {
  const auto path = request.path();
  Match match;
  const Node* node = path.starts_with('/') ? find(*root_, path.substr(1), false, match) : nullptr;
  if (node == nullptr) {
    return fail(make_error(ErrorCode::not_found, "no such path: " + request.method() + " " + std::string(path)));
  }
  auto found = node->methods.find(request.method());
  if (found == node->methods.end() && request.method() == "HEAD") found = node->methods.find("GET");
  if (found == node->methods.end()) found = node->methods.find("*");
  if (found == node->methods.end()) return method_not_allowed(request, response, allowed_methods(node->methods));
  for (const auto& [name, encoded] : match.parameters) {
    auto decoded = percent_decode(encoded);
    if (!decoded.ok()) return fail(std::move(decoded).error().during("decoding {" + name + "} of the path"));
    request.set_param(name, std::move(*decoded));
  }
  if (match.rest) request.set_param(match.rest->first, std::string(match.rest->second));
  const auto& chosen = routes_[found->second];
  request.set_route(chosen.pattern);
  return chosen.handler(request, response);
}

Handler Router::handler() const {
  return [this](Request& request, ResponseWriter& response) { return route(request, response); };
}

}  // namespace harena::http
