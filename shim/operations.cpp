#include "shim/command_operations.hpp"
#include "shim/dial_operation.hpp"
#include "shim/file_operation.hpp"
#include "shim/server.hpp"

namespace harena::shim {
namespace {

void dial(Connection& connection, const session::DialRequest& request) {
  auto operation = std::make_unique<DialOperation>(connection, request);
  auto* begun = operation.get();
  connection.become(std::move(operation));
  begun->begin();
}

template <class Request, class Handler>
bool run(Connection& connection, std::string_view payload, Handler handler) {
  auto request = session::decode<Request>(payload, session::UnknownKeys::refuse);
  if (request) {
    handler(*request);
  } else {
    connection.fail(request.error());
  }
  return true;
}

}  // namespace

bool Server::begin(Connection& connection, session::FrameType type, std::string_view payload) {
  if (begin_command_operation(connection, commands_, type, payload)) return true;
  if (begin_file_operation(connection, type, payload)) return true;
  switch (type) {
    case session::FrameType::dial:
      return run<session::DialRequest>(connection, payload, [&](const auto& request) { dial(connection, request); });
    case session::FrameType::shutdown:
      return run<session::ShutdownRequest>(connection, payload, [&](const auto& request) {
        shutdown(request.grace_ms);
        connection.finish();
      });
    case session::FrameType::rename:
      return run<session::RenameRequest>(connection, payload, [&](const auto& request) {
        if (request.sandbox.empty()) return connection.fail(make_error(ErrorCode::invalid_argument, "rename: the new id is missing"));
        sandbox_.rename(request.sandbox);
        connection.finish();
      });
    case session::FrameType::stats:
      return run<session::Empty>(connection, payload, [&](const auto&) { connection.finish_message(stats()); });
    default: return false;
  }
}

}  // namespace harena::shim
