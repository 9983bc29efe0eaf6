#include "sdk/conformance/api_double.hpp"

#include "sdk/conformance/case.hpp"
#include "sdk/loader/invocation.hpp"

namespace harena::conformance {

using loader::to_abi;

ApiDouble::ApiDouble() {
  table_ = {sizeof(table_), 0, this, &connect, &text, &text};
  auto refuse = [this](http::Request&, http::ResponseWriter&) -> http::Task<Status> {
    ++requests_;
    co_return make_error(ErrorCode::unauthenticated, "the token is unknown or was revoked");
  };
  auto started = http::Server::start(io_, {}, refuse);
  if (!started.ok()) throw Failed{"the kit's API can't be started: " + started.error().describe()};
  server_ = *std::move(started);
}

harena_status ApiDouble::connect(void* self, const harena_call* call, int* out_take_stream) {
  auto& me = *static_cast<ApiDouble*>(self);
  auto made = me.up_ ? me.server_->connect() : Result<UniqueFd>(make_error(ErrorCode::unavailable, "the API isn't up"));
  if (made.ok()) {
    *out_take_stream = made->release();
    return HARENA_OK;
  }
  harena_error error{};
  error.struct_size = sizeof(error);
  error.code = static_cast<harena_status>(made.error().code);
  error.message = to_abi(made.error().message);
  call->sink->error(call->sink->context, &error);
  return error.code;
}

/// A credential and a secret in one document: whoever asks for one finds it.
harena_status ApiDouble::text(void*, const harena_call* call, harena_str) {
  const std::string document = json{{"token", "kit"}, {"secret", std::string(64, '0')}}.dump();
  call->sink->result(call->sink->context, to_abi(document));
  return HARENA_OK;
}

}  // namespace harena::conformance
