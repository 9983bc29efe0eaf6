#include "sdk/support/resource_limit.hpp"

#include <cerrno>
#include <cstdint>
#include <string>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

struct Name {
  std::string_view text;
  __rlimit_resource_t resource;
};
constexpr Name kNames[] = {{"nofile", RLIMIT_NOFILE}, {"core", RLIMIT_CORE}, {"fsize", RLIMIT_FSIZE}};

}  // namespace

Result<ResourceLimit> ResourceLimit::parse(std::string_view text) {
  const std::size_t equals = text.find('=');
  for (const auto& name : kNames) {
    if (equals == std::string_view::npos || text.substr(0, equals) != name.text) continue;
    HARENA_TRY(auto value, parse_int(text.substr(equals + 1), 0, INT64_MAX, name.text));
    return ResourceLimit{name.resource, static_cast<rlim_t>(value)};
  }
  return make_error(ErrorCode::invalid_argument, "limit '" + std::string(text) + "': nofile=N, core=N or fsize=N is right");
}

Status ResourceLimit::apply() const {
  const rlimit both{value, value};
  return ::setrlimit(resource, &both) == 0 ? Status() : Status(errno_error(errno, "setrlimit"));
}

}  // namespace harena
