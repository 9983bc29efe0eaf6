#include "sdk/session/frame.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

namespace harena::session {
namespace {

using Name = std::pair<FrameType, std::string_view>;
constexpr std::array kNames = {
    Name{FrameType::hello, "hello"}, Name{FrameType::hello_ok, "hello_ok"}, Name{FrameType::ok, "ok"},
    Name{FrameType::error, "error"}, Name{FrameType::ping, "ping"}, Name{FrameType::pong, "pong"},
    Name{FrameType::window, "window"}, Name{FrameType::data, "data"}, Name{FrameType::data_end, "data_end"},
    Name{FrameType::ready, "ready"}, Name{FrameType::started, "started"},
    Name{FrameType::output_out, "output_out"}, Name{FrameType::output_err, "output_err"},
    Name{FrameType::truncated, "truncated"}, Name{FrameType::exit, "exit"}, Name{FrameType::ack, "ack"},
    Name{FrameType::entries, "entries"}, Name{FrameType::file_stat, "file_stat"},
    Name{FrameType::resize_now, "resize_now"}, Name{FrameType::signal_now, "signal_now"},
    Name{FrameType::file_range, "file_range"}, Name{FrameType::file_event, "file_event"},
    Name{FrameType::start, "start"}, Name{FrameType::attach, "attach"},
    Name{FrameType::stdin_open, "stdin_open"}, Name{FrameType::resize, "resize"},
    Name{FrameType::signal, "signal"}, Name{FrameType::list, "list"}, Name{FrameType::info, "info"},
    Name{FrameType::wait, "wait"}, Name{FrameType::forget, "forget"},
    Name{FrameType::file_read, "file_read"}, Name{FrameType::file_write, "file_write"},
    Name{FrameType::file_list, "file_list"}, Name{FrameType::file_stat_get, "file_stat_get"},
    Name{FrameType::file_mkdir, "file_mkdir"}, Name{FrameType::file_remove, "file_remove"},
    Name{FrameType::file_move, "file_move"}, Name{FrameType::file_chmod, "file_chmod"},
    Name{FrameType::file_chown, "file_chown"}, Name{FrameType::file_symlink, "file_symlink"},
    Name{FrameType::file_readlink, "file_readlink"}, Name{FrameType::file_truncate, "file_truncate"},
    Name{FrameType::file_xattr_list, "file_xattr_list"}, Name{FrameType::file_xattr_set, "file_xattr_set"},
    Name{FrameType::file_xattr_remove, "file_xattr_remove"}, Name{FrameType::file_watch, "file_watch"},
    Name{FrameType::file_archive_read, "file_archive_read"}, Name{FrameType::file_archive_write, "file_archive_write"},
    Name{FrameType::dial, "dial"}, Name{FrameType::shutdown, "shutdown"}, Name{FrameType::stats, "stats"}, Name{FrameType::rename, "rename"},
    Name{FrameType::agent_configure, "agent_configure"}, Name{FrameType::agent_freeze, "agent_freeze"},
    Name{FrameType::agent_thaw, "agent_thaw"}, Name{FrameType::agent_renew, "agent_renew"},
    Name{FrameType::agent_metrics, "agent_metrics"}, Name{FrameType::agent_power_off, "agent_power_off"}, Name{FrameType::agent_wait, "agent_wait"}};

template <class Int>
void put(char* at, Int value) {
  for (std::size_t i = 0; i < sizeof(Int); ++i) at[i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

template <class Int>
Int get(const char* at) {
  Int value = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    value = static_cast<Int>(value | static_cast<Int>(static_cast<Int>(static_cast<unsigned char>(at[i])) << (8 * i)));
  }
  return value;
}

}  // namespace

Result<FrameHeader> parse_header(std::string_view bytes) {
  FrameHeader header;
  header.length = get<std::uint32_t>(bytes.data());
  header.type = static_cast<FrameType>(get<std::uint16_t>(bytes.data() + 4));
  header.flags = get<std::uint16_t>(bytes.data() + 6);
  header.stream = get<std::uint32_t>(bytes.data() + 8);
  if (header.length > kMaxFrameBytes) {
    return make_error(ErrorCode::invalid_argument, "session frame of " + std::to_string(header.length) +
                                                       " bytes: at most " + std::to_string(kMaxFrameBytes));
  }
  return header;
}

void append_header(std::string& out, const FrameHeader& header) {
  std::array<char, kHeaderBytes> bytes;
  put(bytes.data(), header.length);
  put(bytes.data() + 4, static_cast<std::uint16_t>(header.type));
  put(bytes.data() + 6, header.flags);
  put(bytes.data() + 8, header.stream);
  out.append(bytes.data(), bytes.size());
}

void append_message(std::string& out, FrameType type, std::string_view payload, std::uint32_t stream) {
  do {
    auto part = payload.substr(0, kMaxFrameBytes);
    payload.remove_prefix(part.size());
    std::uint16_t flags = payload.empty() ? 0 : kFlagMore;
    append_header(out, {static_cast<std::uint32_t>(part.size()), type, flags, stream});
    out.append(part);
  } while (!payload.empty());
}

void append_output_prefix(std::string& out, FrameType type, std::uint64_t offset, std::size_t length,
                          std::uint32_t stream) {
  append_header(out, {static_cast<std::uint32_t>(length + 8), type, 0, stream});
  out.append(8, '\0');
  put_u64(out.data() + out.size() - 8, offset);
}

void append_u64_frame(std::string& out, FrameType type, std::uint64_t value, std::uint32_t stream) {
  append_output_prefix(out, type, value, 0, stream);
}

void put_u64(char* at, std::uint64_t value) { put(at, value); }
std::uint64_t get_u64(const char* at) { return get<std::uint64_t>(at); }

Result<std::uint64_t> leading_u64(std::string_view payload) {
  if (payload.size() < 8) {
    return make_error(ErrorCode::invalid_argument,
                      "session frame of " + std::to_string(payload.size()) + " bytes lacks its 8-byte offset");
  }
  return get_u64(payload.data());
}

std::string to_string(FrameType type) {
  auto it = std::find_if(kNames.begin(), kNames.end(), [&](const Name& n) { return n.first == type; });
  if (it != kNames.end()) return std::string(it->second);
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "0x%04x", static_cast<unsigned>(type));
  return text.data();
}

bool is_request(FrameType type) { return static_cast<std::uint16_t>(type) >= 0x40; }

bool is_raw(FrameType type) {
  return type == FrameType::data || type == FrameType::output_out || type == FrameType::output_err ||
         type == FrameType::ack;
}

Result<bool> MessageAssembler::add(const FrameHeader& header, std::string_view payload) {
  if (open_ && header.type != type_) {
    return make_error(ErrorCode::invalid_argument, "session frame '" + to_string(header.type) +
                                                       "' in the middle of a continued '" + to_string(type_) + "'");
  }
  if (payload_.size() + payload.size() > kMaxMessageBytes) {
    return make_error(ErrorCode::resource_exhausted,
                      "session message '" + to_string(header.type) + "' is over " +
                          std::to_string(kMaxMessageBytes) + " bytes");
  }
  type_ = header.type;
  payload_.append(payload);
  open_ = (header.flags & kFlagMore) != 0;
  return !open_;
}

}  // namespace harena::session
