#include "core/api/session/text_parts.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

std::string every_byte() {
  std::string all;
  for (int code = 0; code < 256; ++code) all += static_cast<char>(code);
  return all;
}

TEST(TextParts, JsonTextIsWhatAParserReads) {
  std::string text = every_byte().substr(0, 128) + "\u2603 \U0001f328 \"quoted\" \\n";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    std::string quoted = "\"";
    append_json_text(quoted, std::string_view(text).substr(0, cut));
    append_json_text(quoted, std::string_view(text).substr(cut));
    EXPECT_EQ(nlohmann::json::parse(quoted + "\"").get<std::string>(), text) << cut;
  }
}

TEST(TextParts, Utf8WhereverItIsCut) {
  for (const std::string text : {"", "plain", "\u00e9", "a\u2603b", "\U0001f328\U0001f328", "\xff", "a\xe2\x98", "\xe2(\x98", "\xc0\x80",
                                 "\xed\xa0\x80", "\x80", "\xf0\x9f\x8c", "\u2603\x83"}) {
    for (std::size_t a = 0; a <= text.size(); ++a) {
      for (std::size_t b = a; b <= text.size(); ++b) {
        Utf8Check check;
        check.add(std::string_view(text).substr(0, a));
        check.add(std::string_view(text).substr(a, b - a));
        check.add(std::string_view(text).substr(b));
        EXPECT_EQ(check.valid(), is_utf8(text)) << text << " cut at " << a << " and " << b;
      }
    }
  }
}

TEST(TextParts, Base64OfPiecesOfAnyLength) {
  const std::string bytes = every_byte();
  for (std::size_t size = 1; size < 20; ++size) {
    Base64Parts parts;
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += size) parts.append(out, std::string_view(bytes).substr(at, size));
    parts.finish(out);
    EXPECT_EQ(out, base64_encode(bytes)) << size;
  }
}

}  // namespace
}  // namespace harena
