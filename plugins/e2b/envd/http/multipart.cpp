#include "plugins/e2b/envd/http/multipart.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "sdk/base/text.hpp"
#include "sdk/http/headers.hpp"

namespace harena::e2b {

namespace {

constexpr std::size_t kMaxBoundaryBytes = 70;  // RFC 2046 5.1.1

Error not_multipart(std::string why) {
  return make_error(ErrorCode::invalid_argument, "the body isn't multipart/form-data: " + std::move(why));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// The inside of a quoted text, taken off `rest`; a backslash keeps a quote or a backslash, and is itself before anything else.
std::string take_quoted(std::string_view& rest) {
  std::string out;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1 && (rest[1] == '"' || rest[1] == '\\')) rest.remove_prefix(1);
    out.push_back(rest.front());
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return out;
}

std::string take_value(std::string_view& rest) {
  if (!rest.empty() && rest.front() == '"') return take_quoted(rest);
  const auto end = std::min(rest.find(';'), rest.size());
  std::string out(trimmed(rest.substr(0, end)));
  rest.remove_prefix(end);
  return out;
}

struct Parameters {
  std::string value;
  std::map<std::string, std::string> named;
};

/// `form-data; name="a"; filename="b;c"`.
Parameters parse_parameters(std::string_view text) {
  Parameters all;
  const auto first = std::min(text.find(';'), text.size());
  all.value = ascii_lower(trimmed(text.substr(0, first)));
  auto rest = text.substr(first);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const auto equals = rest.find('=');
    const auto next = rest.find(';');
    if (equals == std::string_view::npos) break;
    if (next < equals) {
      rest.remove_prefix(next);
      continue;
    }
    const auto name = ascii_lower(trimmed(rest.substr(0, equals)));
    rest = trimmed(rest.substr(equals + 1));
    auto value = take_value(rest);
    all.named.emplace(name, std::move(value));
    rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  }
  return all;
}

/// As find(), in time that is linear whatever the bytes are: a body may be full of what begins like a boundary.
std::size_t find_in(std::string_view bytes, std::string_view what) {
  const auto* at = static_cast<const char*>(::memmem(bytes.data(), bytes.size(), what.data(), what.size()));
  return at == nullptr ? std::string_view::npos : static_cast<std::size_t>(at - bytes.data());
}

/// RFC 5987: `UTF-8''%E2%82%AC.txt`.
std::optional<std::string> extended_value(const std::string& value) {
  const auto first = value.find('\'');
  const auto second = first == std::string::npos ? first : value.find('\'', first + 1);
  if (second == std::string::npos) return std::nullopt;
  auto decoded = percent_decode(std::string_view(value).substr(second + 1));
  if (!decoded) return std::nullopt;
  return std::move(*decoded);
}

std::optional<std::string> filename_of(const Parameters& disposition) {
  if (const auto found = disposition.named.find("filename*"); found != disposition.named.end()) {
    if (auto name = extended_value(found->second)) return name;
  }
  if (const auto found = disposition.named.find("filename"); found != disposition.named.end()) return found->second;
  return std::nullopt;
}

}  // namespace

Result<std::string> multipart_boundary(std::string_view content_type) {
  const auto parsed = parse_parameters(content_type);
  if (parsed.value != "multipart/form-data") {
    return make_error(ErrorCode::invalid_argument, "content type '" + parsed.value + "'; multipart/form-data or application/octet-stream is right");
  }
  const auto found = parsed.named.find("boundary");
  if (found == parsed.named.end() || found->second.empty() || found->second.size() > kMaxBoundaryBytes) {
    return make_error(ErrorCode::invalid_argument, "the content type multipart/form-data has no boundary of 1 to 70 bytes");
  }
  return found->second;
}

Result<PartHead> parse_part_head(std::string_view lines) {
  PartHead head;
  bool disposed = false;
  while (!lines.empty()) {
    const auto end = std::min(lines.find("\r\n"), lines.size());
    const auto line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) return not_multipart("a header line of a part has no colon");
    const auto name = trimmed(line.substr(0, colon));
    const auto value = trimmed(line.substr(colon + 1));
    if (http::iequals(name, "Content-Type")) head.content_type = value;
    if (!http::iequals(name, "Content-Disposition")) continue;
    const auto disposition = parse_parameters(value);
    const auto found = disposition.named.find("name");
    if (found != disposition.named.end()) head.name = found->second;
    head.filename = filename_of(disposition);
    disposed = disposition.value == "form-data";
  }
  if (!disposed) return not_multipart("a part has no 'Content-Disposition: form-data'");
  return head;
}

MultipartParser::MultipartParser(std::string_view boundary) : delimiter_("\r\n--" + std::string(boundary)), buffer_("\r\n") {}

void MultipartParser::add(std::string_view bytes) {
  buffer_.erase(0, offset_);
  offset_ = 0;
  if (state_ != State::done) buffer_.append(bytes);
}

Result<MultipartParser::Event> MultipartParser::next() {
  switch (state_) {
    case State::preamble: {
      if (preamble() == Event::need_more) return Event::need_more;
      return next();
    }
    case State::delimiter: return delimiter();
    case State::head: return part_head();
    case State::body: return body();
    case State::done: break;
  }
  return Event::finished;
}

MultipartParser::Event MultipartParser::preamble() {
  const auto found = find_in(rest(), delimiter_);
  if (found == std::string_view::npos) {
    offset_ += rest().size() - std::min(rest().size(), delimiter_.size() - 1);
    return Event::need_more;
  }
  offset_ += found + delimiter_.size();
  state_ = State::delimiter;
  return Event::begin;
}

/// Behind the boundary: two dashes end it all; else blanks and the end of the line.
Result<MultipartParser::Event> MultipartParser::delimiter() {
  auto after = rest();
  if (after.size() < 2) return Event::need_more;
  if (after.starts_with("--")) {
    state_ = State::done;
    return Event::finished;
  }
  const auto blanks = std::min(after.find_first_not_of(" \t"), after.size());
  after.remove_prefix(blanks);
  if (blanks > kMaxHeadBytes) return not_multipart("a boundary's line doesn't end");
  if (after.size() < 2) return Event::need_more;
  if (!after.starts_with("\r\n")) return not_multipart("a boundary isn't followed by the end of its line");
  offset_ += blanks;  // the line's end stays: a head without lines is an empty line behind it
  state_ = State::head;
  return part_head();
}

Result<MultipartParser::Event> MultipartParser::part_head() {
  const auto end = rest().find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (rest().size() > kMaxHeadBytes) return not_multipart("a part's header is longer than 32 KiB");
    return Event::need_more;
  }
  if (end > kMaxHeadBytes) return not_multipart("a part's header is longer than 32 KiB");
  const auto lines = end == 0 ? std::string_view() : rest().substr(2, end - 2);
  HARENA_TRY(head_, parse_part_head(lines));
  offset_ += end + 4;
  state_ = State::body;
  return Event::begin;
}

MultipartParser::Event MultipartParser::body() {
  const auto found = find_in(rest(), delimiter_);
  if (found == 0) {
    offset_ += delimiter_.size();
    state_ = State::delimiter;
    return Event::end;
  }
  std::size_t length = found;
  if (found == std::string_view::npos) length = rest().size() - std::min(rest().size(), delimiter_.size() - 1);
  if (length == 0) return Event::need_more;
  data_ = rest().substr(0, length);
  offset_ += length;
  return Event::data;
}

}  // namespace harena::e2b
