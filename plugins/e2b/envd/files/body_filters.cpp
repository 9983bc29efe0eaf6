#include "plugins/e2b/envd/files/body_filters.hpp"

#include <algorithm>
#include <cstring>

namespace harena::e2b {

using http::Task;

namespace {

std::string_view text_of(const std::vector<std::byte>& block, std::size_t count) {
  return {reinterpret_cast<const char*>(block.data()), count};
}

std::size_t copy_out(std::string_view& from, std::span<std::byte> into) {
  const auto count = std::min(from.size(), into.size());
  std::memcpy(into.data(), from.data(), count);
  from.remove_prefix(count);
  return count;
}

}  // namespace

Task<Status> GunzipBody::fill() {
  const std::span<std::byte> all(block_);
  HARENA_CO_TRY(const auto count, co_await packed_.read_body(all));
  rest_ = text_of(block_, count);
  ended_ = count == 0;
  co_return ok_status();
}

Task<Result<std::size_t>> GunzipBody::read_body(std::span<std::byte> into) {
  std::string out;
  for (;;) {
    HARENA_CO_TRY_STATUS(reader_.step(rest_, out, into.size()));
    if (!out.empty()) break;
    if (ended_ && reader_.finished()) co_return std::size_t{0};
    if (ended_) co_return make_error(ErrorCode::invalid_argument, "the body isn't gzip: it ends in the middle");
    HARENA_CO_TRY_STATUS(co_await fill());
  }
  std::memcpy(into.data(), out.data(), out.size());
  co_return out.size();
}

Task<Result<MultipartParser::Event>> MultipartBody::event() {
  const std::span<std::byte> all(block_);
  for (;;) {
    HARENA_CO_TRY(const auto found, parser_.next());
    if (found != MultipartParser::Event::need_more) co_return found;
    HARENA_CO_TRY(const auto count, co_await body_.read_body(all));
    if (count == 0) co_return make_error(ErrorCode::invalid_argument, "the multipart body ends before its last boundary");
    parser_.add(text_of(block_, count));
  }
}

Task<Result<std::optional<PartHead>>> MultipartBody::next_part() {
  rest_ = {};
  for (;;) {
    HARENA_CO_TRY(const auto found, co_await event());
    if (found == MultipartParser::Event::finished) co_return std::optional<PartHead>();
    if (found != MultipartParser::Event::begin) continue;
    in_part_ = true;
    co_return std::optional<PartHead>(parser_.head());
  }
}

Task<Result<std::size_t>> MultipartBody::read_body(std::span<std::byte> into) {
  while (rest_.empty() && in_part_) {
    HARENA_CO_TRY(const auto found, co_await event());
    if (found == MultipartParser::Event::data) rest_ = parser_.data();
    else in_part_ = false;
  }
  co_return copy_out(rest_, into);
}

Task<Result<std::size_t>> FilesBody::read_body(std::span<std::byte> into) {
  for (;;) {
    if (open_) {
      HARENA_CO_TRY(const auto count, co_await call_.api.read(into));
      if (count > 0) co_return count;
      open_ = false;
    }
    if (next_ == paths_.size()) co_return std::size_t{0};
    const http::Headers none;
    auto target = call_.file_target("", paths_[next_++]);
    HARENA_CO_TRY(const auto head, co_await call_.api.open(std::move(target), none));
    if (head.status >= 400) co_return co_await call_.api.error_of(head);
    open_ = true;
  }
}

}  // namespace harena::e2b
