#include "plugins/e2b/envd/http/cors.hpp"

namespace harena::e2b {

using http::Headers;
using http::Task;

namespace {

constexpr const char* kMethods = "GET, HEAD, POST, PUT, PATCH, DELETE";
constexpr const char* kExposed =
    "Location, Cache-Control, X-Content-Type-Options, Content-Encoding, Connect-Content-Encoding, Grpc-Status, Grpc-Message, "
    "Grpc-Status-Details-Bin, Content-Disposition";
constexpr const char* kMaxAge = "7200";

Headers opened(const Headers& headers) {
  Headers all = headers;
  all.set("Access-Control-Allow-Origin", "*");
  all.set("Access-Control-Expose-Headers", kExposed);
  return all;
}

}  // namespace

bool is_preflight(const http::Request& request) {
  return request.method() == "OPTIONS" && request.headers().contains("Access-Control-Request-Method");
}

Task<Status> answer_preflight(http::Request& request, http::ResponseWriter& response) {
  Headers headers;
  headers.add("Access-Control-Allow-Origin", "*");
  headers.add("Access-Control-Allow-Methods", kMethods);
  headers.add("Access-Control-Allow-Headers", std::string(request.header("Access-Control-Request-Headers").value_or("*")));
  headers.add("Access-Control-Max-Age", kMaxAge);
  co_return co_await response.send(204, std::move(headers), "");
}

Task<Status> CorsSink::inform(int status, const Headers& headers) { return inner_.inform(status, headers); }
Task<Status> CorsSink::send(int status, const Headers& headers, std::string_view body) {
  return inner_.send(status, opened(headers), body);
}
Task<Status> CorsSink::begin(int status, const Headers& headers, std::optional<std::uint64_t> length) {
  return inner_.begin(status, opened(headers), length);
}
Task<Status> CorsSink::begin_with(int status, const Headers& headers, std::optional<std::uint64_t> length,
                                  std::span<const std::byte> first) {
  return inner_.begin_with(status, opened(headers), length, first);
}
Task<Result<std::unique_ptr<http::ByteStream>>> CorsSink::upgrade(int status, const Headers& headers) {
  return inner_.take_over(status, headers);
}

}  // namespace harena::e2b
