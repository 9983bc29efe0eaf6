#include "sdk/base/rfc3339.hpp"

#include <cstdio>
#include <ctime>

namespace harena {

std::string rfc3339(std::int64_t wall_ms) {
  const auto seconds = static_cast<std::time_t>(wall_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[40];
  const auto size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  char milliseconds[8];
  std::snprintf(milliseconds, sizeof milliseconds, ".%03dZ", static_cast<int>(wall_ms % 1000));
  return std::string(text, size) + milliseconds;
}

}  // namespace harena
