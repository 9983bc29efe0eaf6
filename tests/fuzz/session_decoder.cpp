// The session protocol's decoder: a byte stream cut into frames, messages put together, and every message's attributes read.
// Property: what was decoded, encoded again, decodes to the same bytes.
#include <array>
#include <string>
#include <string_view>

#include "sdk/session/command_messages.hpp"
#include "sdk/session/fields.hpp"
#include "sdk/session/file_messages.hpp"
#include "sdk/session/frame.hpp"
#include "sdk/session/hello.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::session {
namespace {

template <class Message>
void decode_one(std::string_view payload) {
  (void)decode<Message>(payload, UnknownKeys::refuse);
  const auto message = decode<Message>(payload, UnknownKeys::skip);
  if (!message) return;
  const auto bytes = encode(*message);
  const auto again = decode<Message>(bytes, UnknownKeys::refuse);
  fuzz::expect(again.ok(), "an encoded message can be decoded");
  fuzz::expect(encode(*again) == bytes, "decoding and encoding keeps a message");
}

using Decode = void (*)(std::string_view);

template <class... Messages>
constexpr std::array<Decode, sizeof...(Messages)> decoders() {
  return {&decode_one<Messages>...};
}

constexpr auto kDecoders = decoders<
    StartRequest, Started, ExitStatus, CommandInfo, AttachRequest, Truncated, StdinRequest, ResizeRequest, SignalRequest,
    CommandRequest, CommandList, Empty, FileStat, FileReadRequest, FileWriteRequest, FileListRequest, FileEntries, FileListEnd,
    FilePathRequest, FileMkdirRequest, FileRemoveRequest, FileMoveRequest, FileChmodRequest, FileChownRequest, FileSymlinkRequest,
    FileTruncateRequest, Hello, HelloOk, ErrorMessage, Window, DialRequest, ShutdownRequest, RenameRequest, Stats>();

/// As one message, which the frame's type picks: all of them for every input would hide from the fuzzer what an input is good for.
void decode_payload(FrameType type, std::string_view payload) {
  kDecoders[static_cast<std::size_t>(type) % kDecoders.size()](payload);
  (void)decode_error(payload);
  (void)leading_u64(payload);
}

}  // namespace
}  // namespace harena::session

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::session;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  MessageAssembler assembler;
  while (rest.size() >= kHeaderBytes) {
    const auto header = parse_header(rest);
    if (!header) return 0;
    rest.remove_prefix(kHeaderBytes);
    const auto payload = rest.substr(0, header->length);
    rest.remove_prefix(payload.size());
    const auto whole = assembler.add(*header, payload);
    if (!whole) return 0;
    if (*whole) decode_payload(header->type, assembler.take());
  }
  if (!rest.empty()) decode_payload(static_cast<FrameType>(static_cast<unsigned char>(rest.front())), rest.substr(1));
  return 0;
}
