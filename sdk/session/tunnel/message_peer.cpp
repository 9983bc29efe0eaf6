#include <utility>

#include "sdk/session/hello.hpp"
#include "sdk/session/tunnel/agent_messages.hpp"
#include "sdk/session/tunnel/peers.hpp"

namespace harena::session {
namespace {

template <class Request>
std::string with_later_clock(std::string payload, std::int64_t by_ns) {
  auto request = decode<Request>(payload);
  if (!request.ok() || request->identity.wall_ns == 0) return payload;
  request->identity.wall_ns += by_ns;
  return encode(*request);
}

std::string carry_clock(FrameType type, std::string payload, std::int64_t by_ns) {
  if (type == FrameType::agent_configure) return with_later_clock<ConfigureRequest>(std::move(payload), by_ns);
  if (type == FrameType::agent_renew) return with_later_clock<RenewRequest>(std::move(payload), by_ns);
  return payload;
}

}  // namespace

void MessagePeer::on_data(std::string_view bytes) {
  // Bounded by what a message may have, not by what the reader does with it.
  host_.tunnel().consumed(stream_, bytes.size());
  if (complete_) return;
  in_.append(bytes);
  take_frames();
}

void MessagePeer::take_frames() {
  while (!complete_ && in_.size() >= kHeaderBytes) {
    const auto header = parse_header(in_);
    if (!header.ok()) return on_nonsense(header.error());
    if (in_.size() < kHeaderBytes + header->length) return;
    const auto whole = assembler_.add(*header, std::string_view(in_).substr(kHeaderBytes, header->length));
    if (!whole.ok()) return on_nonsense(whole.error());
    in_.erase(0, kHeaderBytes + header->length);
    if (!*whole) continue;
    complete_ = true;
    on_message(header->type, assembler_.take());
  }
}

void MessagePeer::on_end() {
  if (!complete_) on_nonsense(make_error(ErrorCode::data_loss, "the stream ended before its message was complete"));
}

void MessagePeer::send_message(std::string bytes) {
  out_ = std::move(bytes);
  on_writable();
}

void MessagePeer::on_writable() {
  if (out_.empty()) return;
  out_.erase(0, host_.tunnel().send(stream_, out_));
  if (!out_.empty()) return;
  host_.tunnel().end(stream_);
  on_sent();
}

AskPeer::AskPeer(PeerHost& host, StreamId stream, FrameType type, std::string payload, std::int64_t asked_ns, AgentReply reply)
    : MessagePeer(host, stream), type_(type), payload_(std::move(payload)), asked_ns_(asked_ns), reply_(std::move(reply)) {}

void AskPeer::begin(std::int64_t now_ns) {
  if (std::exchange(begun_, true)) return;
  std::string bytes;
  append_message(bytes, type_, carry_clock(type_, std::exchange(payload_, {}), now_ns - asked_ns_));
  send_message(std::move(bytes));
}

AskPeer::~AskPeer() {
  if (reply_) reply_(infrastructure_error(ErrorCode::unavailable, "guest-channel", "the bridge to the guest has ended"));
}

void AskPeer::answer(Result<std::string> result) {
  if (!reply_) return;
  host_.defer([reply = std::exchange(reply_, {}), result = std::move(result)] { reply(result); });
}

void AskPeer::on_message(FrameType type, std::string payload) {
  if (type == FrameType::ok) return answer(std::move(payload));
  if (type == FrameType::error) return answer(decode_error(payload));
  answer(make_error(ErrorCode::data_loss, "the guest's agent answered with '" + to_string(type) + "' instead of ok or error"));
}

void AskPeer::on_nonsense(const Error& why) { answer(Error(why)); }

void AskPeer::on_end() {
  MessagePeer::on_end();
  host_.drop(stream_);
}

void AskPeer::on_reset(const Error& why) {
  answer(Error(why));
  host_.drop(stream_);
}

void AskPeer::fail(const Error& why) {
  host_.tunnel().reset(stream_, why);
  on_reset(why);
}

void CallPeer::on_message(FrameType type, std::string payload) {
  host_.defer([handler = handler_, type, payload = std::move(payload)] { handler(type, payload); });
}

void CallPeer::on_nonsense(const Error& why) {
  host_.tunnel().reset(stream_, why);
  host_.drop(stream_);
}

void CallPeer::on_reset(const Error&) { host_.drop(stream_); }

void CallPeer::reply(const Result<std::string>& result) {
  std::string bytes;
  if (result.ok()) {
    append_message(bytes, FrameType::ok, *result);
  } else {
    append_message(bytes, FrameType::error, encode_error(result.error()));
  }
  send_message(std::move(bytes));
}

}  // namespace harena::session
