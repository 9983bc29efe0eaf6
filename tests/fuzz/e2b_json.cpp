// Messages of E2B's services in JSON and protobuf; the first byte picks message and codec. Property: what was decoded goes through both
// codecs and stays the same. Messages are compared, not their texts: the members of a map have no order.
#include <google/protobuf/util/message_differencer.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/e2b/envd/connect/codec.hpp"
#include "plugins/e2b/envd/proto/filesystem.pb.h"
#include "plugins/e2b/envd/proto/process.pb.h"
#include "tests/fuzz/target.hpp"

namespace harena::e2b {
namespace {

using google::protobuf::Message;

template <class... Messages>
std::array<std::unique_ptr<Message>, sizeof...(Messages)> all_messages() {
  return {std::make_unique<Messages>()...};
}

std::unique_ptr<Message> picked(unsigned char byte) {
  auto all = all_messages<process::StartRequest, process::ConnectRequest, process::UpdateRequest, process::SendInputRequest,
                          process::StreamInputRequest, process::SendSignalRequest, process::CloseStdinRequest, process::ListRequest,
                          filesystem::StatRequest, filesystem::MoveRequest, filesystem::ListDirRequest, filesystem::WatchDirRequest,
                          filesystem::GetWatcherEventsRequest, filesystem::StatResponse>();
  return std::move(all[byte % all.size()]);
}

}  // namespace
}  // namespace harena::e2b

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  google::protobuf::SetLogHandler(nullptr);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::e2b;
  using harena::fuzz::expect;
  if (size == 0) return 0;
  const auto message = picked(data[0] & 0x7f);
  const auto codec = (data[0] & 0x80) != 0 ? Codec::proto : Codec::json;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!decode_message(codec, bytes, *message)) return 0;
  if (codec == Codec::proto) return 0;  // unknown fields are kept there, and JSON has none
  const auto text = encode_message(Codec::json, *message);
  expect(text.ok(), "what was read from JSON can be written as JSON");
  const std::unique_ptr<google::protobuf::Message> again(message->New());
  expect(decode_message(Codec::json, *text, *again).ok(), "what we write as JSON can be read");
  expect(google::protobuf::util::MessageDifferencer::Equals(*message, *again), "JSON there and back is the same");
  return 0;
}
