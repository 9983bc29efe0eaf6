#include "core/telemetry/logger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include <unistd.h>

namespace harena {
namespace {

using testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class LoggerTest : public testing::Test {
 protected:
  ~LoggerTest() override { std::filesystem::remove(path_); }
  std::unique_ptr<Logger> open(LogFormat format) {
    LogOptions options;
    options.format = format;
    options.file = path_;
    return std::move(*Logger::open(options, clock_));
  }
  ManualClock clock_{1'700'000'000'123};
  std::filesystem::path path_ = std::filesystem::path(testing::TempDir()) / ("harena_log_" + std::to_string(::getpid()));
};

TEST_F(LoggerTest, WritesText) {
  const std::string name = "a b";
  {
    auto logger = open(LogFormat::text);
    logger->info("created", {{"sandbox", "ab12z"}, {"name", name}, {"ms", 41}, {"ok", true}, {"load", 0.5}});
    logger->debug("not shown");
    logger->warning("line\nbreak");
  }
  EXPECT_EQ(content(path_),
            "2023-11-14T22:13:20.123Z info created sandbox=ab12z name=\"a b\" ms=41 ok=true load=0.5\n"
            "2023-11-14T22:13:20.123Z warning \"line\\nbreak\"\n");
}

TEST_F(LoggerTest, WritesJson) {
  {
    auto logger = open(LogFormat::json);
    logger->error("create failed", infrastructure_error(ErrorCode::unavailable, "store", "gone").during("saving"));
  }
  EXPECT_EQ(content(path_),
            R"({"time":"2023-11-14T22:13:20.123Z","level":"error","message":"create failed",)"
            R"j("error":"saving: gone (unavailable)","code":"unavailable","cause":"infrastructure",)j"
            R"("cause_detail":"store","retry":"other_node"})" "\n");
}

TEST_F(LoggerTest, NamesAFileThatCantBeOpened) {
  LogOptions options;
  options.file = "/proc/nothing/here";
  const auto logger = Logger::open(options, clock_);
  ASSERT_FALSE(logger.ok());
  EXPECT_THAT(logger.error().message, HasSubstr("/proc/nothing/here"));
}

TEST(LogLevel, NamesRoundTrip) {
  for (const auto* name : {"debug", "info", "warning", "error"}) EXPECT_EQ(to_string(*log_level_from_string(name)), name);
  EXPECT_FALSE(log_level_from_string("loud"));
}

TEST(LogLine, BytesThatAreNoTextStayOneLine) {
  for (const auto format : {LogFormat::text, LogFormat::json}) {
    const auto line = format_log_line(format, 0, LogLevel::info, "m\xff\r\n", {{"k", "v\x1b[31m\n"}});
    EXPECT_EQ(line.find_first_of("\r\n\x1b"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace harena
