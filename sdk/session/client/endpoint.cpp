#include "sdk/session/client/endpoint.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include "sdk/http/socket_stream.hpp"

namespace harena::session {
namespace {

const void* loop_of(const boost::asio::any_io_executor& executor) {
  return &boost::asio::query(executor, boost::asio::execution::context);
}

}  // namespace

std::shared_ptr<Endpoint> Endpoint::over(Connect connect) {
  return std::shared_ptr<Endpoint>(new Endpoint(std::move(connect)));
}

std::shared_ptr<Endpoint> Endpoint::over_unix(std::string path) {
  return over([path = std::move(path)]() -> Task<Result<std::unique_ptr<http::ByteStream>>> {
    auto stream = co_await http::connect_unix(path);
    if (stream) co_return std::move(stream);
    Error error = infrastructure_error(ErrorCode::unavailable, "session", stream.error().message);
    error.retry = Retry::same_node;
    co_return error;
  });
}

Endpoint::~Endpoint() = default;

std::unique_ptr<Channel> Endpoint::take_idle(const void* loop) {
  std::lock_guard lock(mutex_);
  auto& list = idle_[loop];
  while (!list.empty()) {
    auto channel = std::move(list.back());
    list.pop_back();
    if (channel->reusable()) return channel;
  }
  return nullptr;
}

Task<Result<std::unique_ptr<Channel>>> Endpoint::acquire() {
  auto executor = co_await boost::asio::this_coro::executor;
  if (auto idle = take_idle(loop_of(executor))) co_return idle;
  co_return co_await connect();
}

Task<Result<std::unique_ptr<Channel>>> Endpoint::connect() {
  HARENA_CO_TRY(auto stream, co_await connect_());
  co_return std::make_unique<Channel>(std::move(stream));
}

Task<void> Endpoint::release(std::unique_ptr<Channel> channel) {
  auto executor = co_await boost::asio::this_coro::executor;
  if (!channel || !channel->reusable()) co_return;
  std::lock_guard lock(mutex_);
  auto& list = idle_[loop_of(executor)];
  if (list.size() < kMaxIdle) list.push_back(std::move(channel));
}

void Endpoint::close() {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

}  // namespace harena::session
