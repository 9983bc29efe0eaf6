#include "sdk/session/tunnel/link.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

namespace harena::session {
namespace {

using namespace std::string_view_literals;

/// What the guest looks for. Public: see the header for why that is enough in this direction.
constexpr std::string_view kSyncMagic = "\x1dHARENA-SYNC-1\r\n"sv;
static_assert(kSyncMagic.size() == 16);
constexpr std::size_t kSyncBytes = 16 + 16 + 16 + 8 + 4 + 4;  // magic, nonce, token, received, mode, version
constexpr std::size_t kSyncOkBytes = 16 + 8 + 4 + 4;          // nonce, received, status, version
constexpr std::uint32_t kLinkVersion = 1;
constexpr std::uint32_t kSameEpoch = 0;
constexpr std::uint32_t kOtherEpoch = 1;
/// Nobody fills more than this before the pipe has taken it: what is handed out later can still be put in order.
constexpr std::size_t kOutputBytes = 48 << 10;
/// The host's trailer. Not zero: filler doesn't have it.
constexpr std::uint32_t kHostTrailer = 0x5a17'c0de;
constexpr std::size_t kRecordOverhead = kRecordHeaderBytes + kRecordTrailerBytes;

template <class Int>
void append(std::string& out, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) out += static_cast<char>((value >> (8 * i)) & 0xff);
}

template <class Int>
Int read(std::string_view bytes, std::size_t at) {
  Int value = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    value = static_cast<Int>(value | static_cast<Int>(static_cast<Int>(static_cast<unsigned char>(bytes[at + i])) << (8 * i)));
  }
  return value;
}

bool is_numbered(RecordType type) { return type != RecordType::ack; }

bool is_known(std::uint8_t type) {
  return (type >= static_cast<std::uint8_t>(RecordType::open) && type <= static_cast<std::uint8_t>(RecordType::window)) ||
         type == static_cast<std::uint8_t>(RecordType::ack);
}

std::string encode_record(RecordType type, std::uint32_t stream, std::string_view payload, std::uint32_t trailer) {
  std::string out;
  out.reserve(payload.size() + kRecordOverhead);
  append(out, static_cast<std::uint16_t>(payload.size()));
  append(out, static_cast<std::uint8_t>(type));
  append(out, std::uint8_t{0});
  append(out, stream);
  out.append(payload);
  append(out, trailer);
  return out;
}

Error wrong(std::string message) { return make_error(ErrorCode::invalid_argument, "tunnel: " + std::move(message)); }

template <std::size_t N>
void fill(std::array<char, N>& bytes, RandomSource& random) {
  random.fill(std::as_writable_bytes(std::span(bytes)));
}

template <std::size_t N>
std::string_view view(const std::array<char, N>& bytes) {
  return {bytes.data(), N};
}

}  // namespace

std::string_view Link::key() const { return side_ == Side::guest ? kSyncMagic : view(nonce_); }

std::uint32_t Link::trailer(Side sender) const {
  // |1: as the host's, never what filler has.
  return sender == Side::host ? kHostTrailer : read<std::uint32_t>(view(token_), 0) | 1;
}

void Link::start(LinkStart start, RandomSource& random) {
  state_ = State::unsynced;
  broken_ = {};
  in_.clear();
  urgent_.clear();
  fill(nonce_, random);
  if (start == LinkStart::new_epoch) {
    fill(token_, random);
    if (agreed_) forget_epoch();
    agreed_ = false;
  }
  // An epoch that the guest never answered to hasn't begun: it can't go on, it begins, with all that waits for it.
  start_ = agreed_ ? LinkStart::go_on : LinkStart::new_epoch;
  current_.assign(kMaxRecordBytes + kRecordOverhead, '\0');
  current_.append(kSyncMagic).append(view(nonce_)).append(view(token_));
  append(current_, received_);
  append(current_, static_cast<std::uint32_t>(start_));
  append(current_, kLinkVersion);
  current_sent_ = 0;
}

void Link::forget_epoch() {
  kept_.clear();
  first_kept_ = 0;
  next_ = 0;
  kept_bytes_ = waiting_bytes_ = 0;
  received_ = 0;
  unacked_in_bytes_ = 0;
}

void Link::push(RecordType type, std::uint32_t stream, std::string_view payload) {
  auto record = encode_record(type, stream, payload, trailer(side_));
  kept_bytes_ += record.size();
  waiting_bytes_ += record.size();
  kept_.push_back(std::move(record));
}

std::string_view Link::output() {
  if (current_sent_ < current_.size()) return std::string_view(current_).substr(current_sent_);
  current_.clear();
  current_sent_ = 0;
  if (!synced()) return {};
  current_.swap(urgent_);
  for (; next_ < kept_.size() && current_.size() < kOutputBytes; ++next_) {
    current_ += kept_[next_];
    waiting_bytes_ -= kept_[next_].size();
  }
  return current_;
}

void Link::sent(std::size_t bytes) { current_sent_ += bytes; }

void Link::receive(std::string_view bytes) {
  if (!broken_.ok()) return;
  in_.append(bytes);
  std::size_t used = 0;
  while (broken_.ok()) {
    const auto rest = std::string_view(in_).substr(used);
    const auto taken = state_ == State::synced ? take_record(rest) : hunt(rest);
    if (taken == 0) break;
    used += taken;
    // start() from within an event has emptied it.
    if (used > in_.size()) return;
  }
  in_.erase(0, used);
}

std::size_t Link::hunt(std::string_view bytes) {
  const auto wanted = side_ == Side::guest ? kSyncBytes : kSyncOkBytes;
  const auto at = bytes.find(key());
  // A part of the key may be at the end.
  if (at == std::string_view::npos) return bytes.size() - std::min(bytes.size(), key().size() - 1);
  if (bytes.size() - at < wanted) return at;
  const std::string message(bytes.substr(at, wanted));
  if (side_ == Side::guest) {
    answer_sync(message);
  } else {
    take_sync_ok(message);
  }
  return at + wanted;
}

void Link::answer_sync(std::string_view sync) {
  const auto start = static_cast<LinkStart>(read<std::uint32_t>(sync, 56));
  const auto token = sync.substr(32, 16);
  const bool same = agreed_ && token == view(token_);
  std::memcpy(nonce_.data(), sync.data() + 16, nonce_.size());
  urgent_.clear();
  if (start == LinkStart::new_epoch) {
    std::memcpy(token_.data(), token.data(), token_.size());
    forget_epoch();
  }
  const bool refused = start == LinkStart::go_on && !same;
  current_.assign(view(nonce_));
  append(current_, received_);
  append(current_, refused ? kOtherEpoch : kSameEpoch);
  append(current_, kLinkVersion);
  current_sent_ = 0;
  if (!refused) resynchronised(start, read<std::uint64_t>(sync, 48));
}

void Link::take_sync_ok(std::string_view answer) {
  if (read<std::uint32_t>(answer, 24) != kSameEpoch) {
    broken_ = make_error(ErrorCode::aborted, "the guest isn't the one that the tunnel was to go on with: it has started anew");
    return;
  }
  resynchronised(start_, read<std::uint64_t>(answer, 16));
}

void Link::resynchronised(LinkStart start, std::uint64_t peer_received) {
  if (peer_received < first_kept_ || peer_received > first_kept_ + kept_.size()) {
    return lose_step("the peer says that it has " + std::to_string(peer_received) + " records of " + std::to_string(first_kept_) + " to " +
                     std::to_string(first_kept_ + kept_.size()));
  }
  drop_acknowledged(peer_received);
  next_ = 0;
  waiting_bytes_ = kept_bytes_;
  state_ = State::synced;
  agreed_ = true;
  events_.on_synced(start);
}

void Link::drop_acknowledged(std::uint64_t received) {
  while (first_kept_ < received) {
    if (next_ == 0) waiting_bytes_ -= kept_.front().size();
    kept_bytes_ -= kept_.front().size();
    kept_.pop_front();
    ++first_kept_;
    if (next_ > 0) --next_;
  }
}

std::size_t Link::take_record(std::string_view bytes) {
  if (bytes.size() < kRecordHeaderBytes) return 0;
  const auto length = read<std::uint16_t>(bytes, 0);
  const auto type = read<std::uint8_t>(bytes, 2);
  if (length > kMaxRecordBytes || !is_known(type) || bytes[3] != 0) {
    lose_step("a record of type " + std::to_string(type) + " with " + std::to_string(length) + " bytes");
    return 1;
  }
  const std::size_t whole = length + kRecordOverhead;
  if (bytes.size() < whole) return 0;
  const auto peer = side_ == Side::host ? Side::guest : Side::host;
  if (read<std::uint32_t>(bytes, whole - kRecordTrailerBytes) != trailer(peer)) {
    lose_step("a record without its trailer");
    // Whatever it was, a SYNC may begin in the middle of it.
    return 1;
  }
  const Record record{static_cast<RecordType>(type), read<std::uint32_t>(bytes, 4), bytes.substr(kRecordHeaderBytes, length)};
  if (auto status = deliver(record); !status.ok()) lose_step(status.error().message);
  return whole;
}

Status Link::deliver(const Record& record) {
  if (!is_numbered(record.type)) return take_ack(record.payload);
  ++received_;
  unacked_in_bytes_ += record.payload.size() + kRecordOverhead;
  if (unacked_in_bytes_ >= kAckEveryBytes) {
    unacked_in_bytes_ = 0;
    std::string count;
    append(count, received_);
    urgent_ += encode_record(RecordType::ack, 0, count, trailer(side_));
  }
  return events_.on_record(record);
}

Status Link::take_ack(std::string_view payload) {
  if (payload.size() != 8) return wrong("an ack of " + std::to_string(payload.size()) + " bytes");
  const auto count = read<std::uint64_t>(payload, 0);
  if (count < first_kept_ || count > first_kept_ + next_) return wrong("an ack of " + std::to_string(count) + " records, which weren't sent");
  drop_acknowledged(count);
  return {};
}

void Link::lose_step(const std::string& why) {
  state_ = State::unsynced;
  if (side_ == Side::host) broken_ = make_error(ErrorCode::data_loss, "the guest broke the rules of the tunnel: " + why);
}

}  // namespace harena::session
