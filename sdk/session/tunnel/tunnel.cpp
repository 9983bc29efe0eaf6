#include "sdk/session/tunnel/tunnel.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "sdk/session/hello.hpp"

namespace harena::session {
namespace {

/// Bulk is handed to the link in such portions, so that a stream that begins now waits for no more than this.
constexpr std::size_t kAheadBytes = 64 << 10;

Error wrong(std::string message) { return make_error(ErrorCode::invalid_argument, "tunnel: " + std::move(message)); }

Error lost(std::string message) { return infrastructure_error(ErrorCode::unavailable, "guest-channel", std::move(message)); }

std::string encode_window(std::uint64_t bytes) {
  std::string out;
  for (int i = 0; i < 4; ++i) out += static_cast<char>((bytes >> (8 * i)) & 0xff);
  return out;
}

std::uint64_t decode_window(std::string_view payload) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < 4; ++i) bytes |= std::uint64_t{static_cast<unsigned char>(payload[i])} << (8 * i);
  return bytes;
}

}  // namespace

void Tunnel::start(LinkStart start, RandomSource& random) {
  // Before the first epoch there is nothing that could belong to another one.
  if (start == LinkStart::new_epoch && std::exchange(started_, true)) {
    reset_all(make_error(ErrorCode::aborted, "the machine goes on from a snapshot: connections of before are gone"));
  }
  link_.start(start, random);
}

void Tunnel::receive(std::string_view bytes) {
  link_.receive(bytes);
  if (!link_.broken().ok() && !streams_.empty()) reset_all(Error(link_.broken().error()));
}

std::string_view Tunnel::output() {
  fill();
  return link_.output();
}

void Tunnel::fill() {
  if (!link_.synced()) return;
  while (!ready_.empty() && link_.room() && link_.waiting() < kAheadBytes) {
    auto it = ready_.upper_bound(last_served_);
    if (it == ready_.end()) it = ready_.begin();
    last_served_ = *it;
    auto found = streams_.find(last_served_);
    if (found == streams_.end() || !send_some(last_served_, found->second)) ready_.erase(last_served_);
  }
}

/// False when the stream has nothing more that may go now.
bool Tunnel::send_some(StreamId id, Stream& stream) {
  const auto size = stream.out.allow(std::min(stream.buffer.size(), kMaxRecordBytes));
  if (size > 0) {
    link_.push(RecordType::data, id, std::string_view(stream.buffer).substr(0, size));
    stream.out.spend(size);
    stream.buffer.erase(0, size);
  }
  const bool more = !stream.buffer.empty() && !stream.out.blocked();
  if (stream.buffer.empty() && stream.end_wanted) {
    send_end(id, stream);
  } else if (stream.blocked && size > 0) {
    stream.blocked = false;
    writable_.push_back(id);
  }
  return more;
}

void Tunnel::send_end(StreamId id, Stream& stream) {
  if (std::exchange(stream.end_sent, true)) return;
  link_.push(RecordType::end, id, {});
  finish_if_done(id);
}

void Tunnel::tell_writable() {
  for (auto id : std::exchange(writable_, {})) {
    if (streams_.count(id) != 0) events_.on_writable(id);
  }
}

StreamId Tunnel::next_id() {
  do {
    ++last_opened_;
  } while (last_opened_ == 0 || streams_.count(last_opened_) != 0);
  return last_opened_;
}

Result<StreamId> Tunnel::open(StreamKind kind) {
  if (streams_.size() >= kMaxStreams) {
    return make_error(ErrorCode::resource_exhausted, "the machine has " + std::to_string(kMaxStreams) + " connections, the most that there may be");
  }
  const auto id = next_id();
  streams_[id].kind = kind;
  const char payload = static_cast<char>(kind);
  link_.push(RecordType::open, id, {&payload, 1});
  return id;
}

std::size_t Tunnel::send(StreamId id, std::string_view bytes) {
  auto it = streams_.find(id);
  if (it == streams_.end() || it->second.end_wanted) return 0;
  auto& stream = it->second;
  const auto size = std::min(bytes.size(), kStreamBufferBytes - std::min(kStreamBufferBytes, stream.buffer.size()));
  stream.buffer.append(bytes.substr(0, size));
  stream.blocked = size < bytes.size();
  if (!stream.buffer.empty() && !stream.out.blocked()) ready_.insert(id);
  return size;
}

std::size_t Tunnel::room(StreamId id) {
  auto it = streams_.find(id);
  if (it == streams_.end() || it->second.end_wanted) return 0;
  const auto room = kStreamBufferBytes - std::min(kStreamBufferBytes, it->second.buffer.size());
  it->second.blocked = it->second.blocked || room == 0;
  return room;
}

void Tunnel::end(StreamId id) {
  auto it = streams_.find(id);
  if (it == streams_.end() || std::exchange(it->second.end_wanted, true)) return;
  if (it->second.buffer.empty()) send_end(id, it->second);
}

void Tunnel::reset(StreamId id, const Error& why) {
  if (streams_.erase(id) == 0) return;
  ready_.erase(id);
  link_.push(RecordType::reset, id, encode_error(why).substr(0, kMaxRecordBytes));
}

void Tunnel::consumed(StreamId id, std::size_t bytes) {
  auto it = streams_.find(id);
  if (it == streams_.end() || it->second.end_received) return;
  const auto more = it->second.in.consume(bytes);
  if (more > 0) link_.push(RecordType::window, id, encode_window(more));
}

void Tunnel::finish_if_done(StreamId id) {
  auto it = streams_.find(id);
  if (it == streams_.end() || !it->second.end_sent || !it->second.end_received) return;
  streams_.erase(it);
  ready_.erase(id);
}

void Tunnel::reset_all(const Error& why) {
  auto streams = std::exchange(streams_, {});
  ready_.clear();
  writable_.clear();
  for (const auto& [id, stream] : streams) events_.on_reset(id, why);
}

void Tunnel::on_synced(LinkStart start) {
  if (side_ == Side::guest && start == LinkStart::new_epoch) reset_all(lost("the host began anew"));
  events_.on_synced(start);
}

Status Tunnel::on_record(const Record& record) {
  if (record.type == RecordType::open) return on_open(record);
  auto it = streams_.find(record.stream);
  // One that was reset here while this was on its way.
  if (it == streams_.end()) return {};
  auto& stream = it->second;
  switch (record.type) {
    case RecordType::data: return on_data(record.stream, stream, record.payload);
    case RecordType::end: return on_end(record.stream, stream);
    case RecordType::window: return on_window(record.stream, stream, record.payload);
    default: break;
  }
  auto why = record.payload.empty() ? lost("the connection was reset") : decode_error(record.payload);
  streams_.erase(it);
  ready_.erase(record.stream);
  events_.on_reset(record.stream, why);
  return {};
}

Status Tunnel::on_open(const Record& record) {
  if (side_ == Side::host) return wrong("the guest opens a stream");
  if (record.payload.size() != 1) return wrong("an open of " + std::to_string(record.payload.size()) + " bytes");
  if (streams_.count(record.stream) != 0) return wrong("stream " + std::to_string(record.stream) + " is open already");
  const auto kind = static_cast<StreamKind>(record.payload[0]);
  Error refused;
  if (kind != StreamKind::session && kind != StreamKind::agent) {
    refused = make_error(ErrorCode::unimplemented, "a stream of kind " + std::to_string(static_cast<int>(kind)));
  } else if (streams_.size() >= kMaxStreams) {
    refused = make_error(ErrorCode::resource_exhausted, "over " + std::to_string(kMaxStreams) + " streams");
  } else {
    streams_[record.stream].kind = kind;
    events_.on_open(record.stream, kind);
    return {};
  }
  link_.push(RecordType::reset, record.stream, encode_error(refused));
  return {};
}

Status Tunnel::on_data(StreamId id, Stream& stream, std::string_view bytes) {
  if (bytes.empty()) return wrong("data of 0 bytes");
  if (stream.end_received) return wrong("data on stream " + std::to_string(id) + " after its end");
  HARENA_TRY_STATUS(stream.in.receive(bytes.size()));
  events_.on_data(id, bytes);
  return {};
}

Status Tunnel::on_end(StreamId id, Stream& stream) {
  if (std::exchange(stream.end_received, true)) return wrong("stream " + std::to_string(id) + " ends twice");
  events_.on_end(id);
  finish_if_done(id);
  return {};
}

Status Tunnel::on_window(StreamId id, Stream& stream, std::string_view payload) {
  if (payload.size() != 4) return wrong("a window of " + std::to_string(payload.size()) + " bytes");
  HARENA_TRY_STATUS(stream.out.grant(decode_window(payload)));
  if (!stream.buffer.empty()) ready_.insert(id);
  return {};
}

}  // namespace harena::session
