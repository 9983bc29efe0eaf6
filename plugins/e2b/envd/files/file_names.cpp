// What an answer says of a file: its type, its name, its coding.
#include <array>
#include <map>

#include "plugins/e2b/envd/accounts.hpp"
#include "plugins/e2b/envd/files/file_routes.hpp"
#include "sdk/base/text.hpp"

namespace harena::e2b {

namespace {

const std::map<std::string_view, std::string_view>& types() {
  static const std::map<std::string_view, std::string_view> kTypes = {
      {"avif", "image/avif"}, {"css", "text/css; charset=utf-8"}, {"csv", "text/csv; charset=utf-8"}, {"gif", "image/gif"},
      {"gz", "application/gzip"}, {"htm", "text/html; charset=utf-8"}, {"html", "text/html; charset=utf-8"},
      {"jpeg", "image/jpeg"}, {"jpg", "image/jpeg"}, {"js", "text/javascript; charset=utf-8"}, {"json", "application/json"},
      {"mjs", "text/javascript; charset=utf-8"}, {"mp4", "video/mp4"}, {"pdf", "application/pdf"}, {"png", "image/png"},
      {"svg", "image/svg+xml"}, {"tar", "application/x-tar"}, {"wasm", "application/wasm"}, {"webp", "image/webp"},
      {"xml", "text/xml; charset=utf-8"}, {"zip", "application/zip"},
  };
  return kTypes;
}

bool binary(std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    const bool control = byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\f' && byte != 0x1b;
    if (control) return true;
  }
  return false;
}

bool plain_token(const std::string& name) { return http::is_token(name); }

/// The weight of a coding: q of itself, else of `*`, else the fallback; in thousandths.
int weight(const http::Headers& headers, std::string_view coding, int fallback) {
  int star = -1;
  for (const auto token : headers.tokens("Accept-Encoding")) {
    const auto name = token.substr(0, token.find_first_of("; "));
    int q = 1000;
    if (const auto at = token.find("q="); at != std::string_view::npos) {
      q = static_cast<int>(std::atof(std::string(token.substr(at + 2)).c_str()) * 1000);
    }
    if (http::iequals(name, coding)) return q;
    if (name == "*") star = q;
  }
  return star >= 0 ? star : fallback;
}

}  // namespace

std::string media_type(std::string_view name, std::string_view first_bytes) {
  const auto dot = name.rfind('.');
  if (dot != std::string_view::npos) {
    const auto found = types().find(name.substr(dot + 1));
    if (found != types().end()) return std::string(found->second);
  }
  return binary(first_bytes) ? "application/octet-stream" : "text/plain; charset=utf-8";
}

std::string content_disposition(const std::string& name) {
  if (plain_token(name)) return "inline; filename=" + name;
  std::string quoted;
  bool ascii = true;
  for (const char c : name) {
    ascii = ascii && c >= ' ' && c <= '~';
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  if (ascii) return "inline; filename=\"" + quoted + "\"";
  return "inline; filename*=utf-8''" + percent_encode(as_utf8(name));
}

Coding wanted_coding(const http::Headers& headers) {
  if (!headers.contains("Accept-Encoding")) return Coding::identity;
  const int gzip = weight(headers, "gzip", 0);
  // Nothing said of identity: every client takes it, but one that names gzip alone prefers that.
  const bool named = headers.has_token("Accept-Encoding", "identity") || weight(headers, "identity", -1) >= 0;
  const int identity = weight(headers, "identity", 1);
  std::size_t codings = 0;
  for (const auto token : headers.tokens("Accept-Encoding")) codings += token.empty() ? 0 : 1;
  if (identity == 0) return gzip > 0 ? Coding::gzip : Coding::none;
  if (named) return gzip > identity ? Coding::gzip : Coding::identity;
  // A list such as "gzip, deflate, br" is what every HTTP library sends by itself: no wish for a slower answer.
  return gzip > 0 && codings == 1 ? Coding::gzip : Coding::identity;
}

}  // namespace harena::e2b
