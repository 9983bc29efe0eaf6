// The tunnel to a VM's agent, as a hostile guest may feed the host, and as a confused host may feed the guest. The input is a list of
// pieces: a kind, a size, bytes. A piece goes to the tunnel raw, or as a record with the right trailer, or makes the owner do something.
// Properties: no data on a stream that isn't open or has ended, never more than its credit, a broken link stays silent.
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include "sdk/session/tunnel/tunnel.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::session {
namespace {

struct Owner final : TunnelEvents {
  void on_open(StreamId stream, StreamKind) override {
    fuzz::expect(open.emplace(stream, false).second, "a stream opens once");
  }
  void on_data(StreamId stream, std::string_view bytes) override {
    auto it = open.find(stream);
    fuzz::expect(it != open.end() && !it->second, "data only between open and end");
    fuzz::expect(!bytes.empty() && bytes.size() <= kMaxRecordBytes, "data of 1 byte to a whole record");
    held[stream] += bytes.size();
    fuzz::expect(held[stream] <= kInitialWindowBytes, "never more than its credit");
  }
  void on_end(StreamId stream) override {
    auto it = open.find(stream);
    fuzz::expect(it != open.end() && !it->second, "one end");
    it->second = true;
  }
  void on_reset(StreamId stream, const Error&) override { forget(stream); }
  void on_writable(StreamId) override {}
  void on_synced(LinkStart) override {}
  void forget(StreamId stream) {
    open.erase(stream);
    held.erase(stream);
  }
  std::map<StreamId, bool> open;  // whether its peer has ended
  std::map<StreamId, std::size_t> held;
};

class Game {
 public:
  explicit Game(Side side) : side_(side), tunnel_(side, owner_) {
    if (side == Side::host) {
      tunnel_.start(LinkStart::new_epoch, random_);
      answer_sync();
    } else {
      send_sync(0);
    }
  }

  void piece(unsigned kind, std::string_view bytes) {
    if (broken_) fuzz::expect(!tunnel_.broken().ok(), "what is broken stays so");
    switch (kind % 8) {
      case 0: tunnel_.receive(bytes); break;
      case 1: case 2: case 3: record(bytes); break;
      case 4: act(bytes); break;
      case 5: send(bytes); break;
      case 6: side_ == Side::guest ? send_sync(bytes.empty() ? 0 : bytes[0] & 1) : restart(bytes); break;
      default: drain(); break;
    }
    broken_ = !tunnel_.broken().ok();
    fuzz::expect(tunnel_.streams() <= kMaxStreams, "streams are bounded");
  }

 private:
  void record(std::string_view bytes) {
    if (bytes.size() < 3) return;
    std::string out;
    const auto payload = bytes.substr(2);
    const auto size = payload.size();
    for (int i = 0; i < 2; ++i) out += static_cast<char>(size >> (8 * i));
    out += bytes[0];
    out += '\0';
    out += bytes[1];
    out.append(3, '\0').append(payload);
    const std::uint32_t trailer = side_ == Side::guest ? 0x5a17'c0de : token_;
    for (int i = 0; i < 4; ++i) out += static_cast<char>(trailer >> (8 * i));
    tunnel_.receive(out);
  }
  void act(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto stream = static_cast<StreamId>(static_cast<unsigned char>(bytes[0]));
    if (side_ == Side::host && bytes.size() % 3 == 0) {
      if (auto id = tunnel_.open(StreamKind::session); id.ok()) owner_.open.emplace(*id, false);
    } else if (bytes.size() % 3 == 1) {
      tunnel_.reset(stream, make_error(ErrorCode::cancelled, "enough"));
      owner_.forget(stream);
    } else if (owner_.held.count(stream) != 0) {
      tunnel_.consumed(stream, std::exchange(owner_.held[stream], 0));
    }
  }
  void send(std::string_view bytes) {
    if (bytes.empty()) return;
    const auto stream = static_cast<StreamId>(static_cast<unsigned char>(bytes[0]));
    fuzz::expect(tunnel_.send(stream, bytes) <= bytes.size(), "takes no more than there is");
    if (bytes.size() % 5 == 0) tunnel_.end(stream);
  }
  void drain() {
    for (int i = 0; i < 64; ++i) {
      const auto out = tunnel_.output();
      if (out.empty()) return;
      tunnel_.sent(out.size());
      tunnel_.tell_writable();
    }
  }
  void restart(std::string_view bytes) {
    tunnel_.start(bytes.size() % 2 == 0 ? LinkStart::go_on : LinkStart::new_epoch, random_);
    answer_sync();
  }
  void answer_sync() {
    const auto out = std::string(tunnel_.output());
    const auto at = out.find("\x1dHARENA-SYNC-1");
    fuzz::expect(at != std::string::npos && out.size() - at == 64, "a start sends a SYNC");
    token_ = 0;
    std::memcpy(&token_, out.data() + at + 32, 4);
    token_ |= 1;
    tunnel_.receive(out.substr(at + 16, 16) + std::string(12, '\0') + std::string("\x01\0\0\0", 4));
  }
  void send_sync(int start) {
    std::string sync(16 << 10, '\0');
    sync += "\x1dHARENA-SYNC-1\r\n" + std::string(16, 'n') + std::string(16, 't') + std::string(8, '\0');
    sync += static_cast<char>(start ^ 1);
    sync += std::string("\0\0\0\x01\0\0\0", 7);
    tunnel_.receive(sync);
  }

  SeededRandom random_{1};
  const Side side_;
  Owner owner_;
  Tunnel tunnel_;
  std::uint32_t token_ = 0;
  bool broken_ = false;
};

}  // namespace
}  // namespace harena::session

extern "C" int LLVMFuzzerInitialize(int*, char***) { return 0; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace harena::session;
  if (size == 0) return 0;
  Game game(data[0] % 2 == 0 ? Side::host : Side::guest);
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (rest.size() >= 2) {
    const auto kind = static_cast<unsigned char>(rest[0]);
    const auto piece = rest.substr(2, static_cast<unsigned char>(rest[1]));
    rest.remove_prefix(2 + piece.size());
    game.piece(kind, piece);
  }
  return 0;
}
