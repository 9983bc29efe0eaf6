#include "sdk/session/tunnel/tunnel.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace harena::session {
namespace {

struct Recorder : TunnelEvents {
  void on_open(StreamId stream, StreamKind kind) override { opened[stream] = kind; }
  void on_data(StreamId stream, std::string_view bytes) override {
    data[stream].append(bytes);
    if (consume) tunnel->consumed(stream, bytes.size());
  }
  void on_end(StreamId stream) override { ended.push_back(stream); }
  void on_reset(StreamId stream, const Error& why) override { resets[stream] = why; }
  void on_writable(StreamId stream) override { writable.push_back(stream); }
  void on_synced(LinkStart start) override { synced.push_back(start); }

  Tunnel* tunnel = nullptr;
  bool consume = true;
  std::map<StreamId, StreamKind> opened;
  std::map<StreamId, std::string> data;
  std::map<StreamId, Error> resets;
  std::vector<StreamId> ended, writable;
  std::vector<LinkStart> synced;
};

struct Pair {
  Pair() {
    at_host.tunnel = &host;
    at_guest.tunnel = &guest;
    host.start(LinkStart::new_epoch, random);
  }
  static bool move(Tunnel& from, Tunnel& to, std::size_t most = SIZE_MAX) {
    const auto bytes = std::string(from.output().substr(0, most));
    from.sent(bytes.size());
    from.tell_writable();
    to.receive(bytes);
    return !bytes.empty();
  }
  void run() {
    while (move(host, guest) | move(guest, host)) {
    }
  }
  StreamId open() {
    auto stream = host.open(StreamKind::session);
    EXPECT_TRUE(stream.ok());
    run();
    return *stream;
  }
  /// All of it, waiting for room as a peer does.
  void send_all(Tunnel& from, StreamId stream, std::string_view bytes) {
    while (!bytes.empty()) {
      const auto taken = from.send(stream, bytes);
      bytes.remove_prefix(taken);
      run();
      ASSERT_TRUE(taken > 0 || bytes.empty()) << "stuck with " << bytes.size() << " bytes";
    }
  }

  SeededRandom random{3};
  Recorder at_host, at_guest;
  Tunnel host{Side::host, at_host}, guest{Side::guest, at_guest};
};

std::string pattern(std::size_t size, unsigned seed) {
  std::string out(size, '\0');
  for (auto& c : out) c = static_cast<char>((seed = seed * 1103515245 + 12345) >> 16);
  return out;
}

TEST(Tunnel, CarriesBytesBothWaysAndClosesByHalves) {
  Pair pair;
  const auto id = pair.open();
  EXPECT_EQ(pair.at_guest.opened.at(id), StreamKind::session);
  const auto down = pattern(3 << 20, 1), up = pattern(2 << 20, 2);
  pair.send_all(pair.host, id, down);
  pair.host.end(id);
  pair.run();
  EXPECT_EQ(pair.at_guest.ended, std::vector<StreamId>{id});
  pair.send_all(pair.guest, id, up);
  pair.guest.end(id);
  pair.run();
  EXPECT_EQ(pair.at_guest.data[id], down);
  EXPECT_EQ(pair.at_host.data[id], up);
  EXPECT_EQ(pair.host.streams(), 0u);
  EXPECT_EQ(pair.guest.streams(), 0u);
}

TEST(Tunnel, AReaderThatIsSlowHoldsUpNobodyElse) {
  Pair pair;
  const auto slow = pair.open(), quick = pair.open();
  pair.at_guest.consume = false;
  std::size_t sent = 0;
  for (std::size_t taken = 1; taken > 0;) {
    taken = pair.host.send(slow, std::string(kStreamBufferBytes, 's'));
    sent += taken;
    pair.run();
  }
  EXPECT_EQ(sent, kInitialWindowBytes + kStreamBufferBytes);
  EXPECT_EQ(pair.at_guest.data[slow].size(), kInitialWindowBytes);
  pair.at_guest.consume = true;
  pair.send_all(pair.host, quick, std::string(5 << 20, 'q'));
  EXPECT_EQ(pair.at_guest.data[quick].size(), 5u << 20);
  EXPECT_EQ(pair.at_guest.data[slow].size(), kInitialWindowBytes);
  pair.at_host.writable.clear();
  pair.guest.consumed(slow, kInitialWindowBytes);
  pair.run();
  EXPECT_EQ(pair.at_guest.data[slow].size(), sent);
  EXPECT_EQ(pair.at_host.writable, std::vector<StreamId>{slow});
}

TEST(Tunnel, StreamsTakeTurns) {
  Pair pair;
  std::vector<StreamId> ids;
  for (int i = 0; i < 3; ++i) ids.push_back(pair.open());
  for (auto id : ids) (void)pair.host.send(id, std::string(kStreamBufferBytes, 'x'));
  // One portion only: each has got its part of it.
  Pair::move(pair.host, pair.guest);
  for (auto id : ids) EXPECT_GT(pair.at_guest.data[id].size(), 0u) << id;
}

TEST(Tunnel, AResetSaysWhyAndLateDataIsDropped) {
  Pair pair;
  const auto id = pair.open();
  (void)pair.guest.send(id, "late");
  pair.host.reset(id, make_error(ErrorCode::cancelled, "enough"));
  pair.run();
  EXPECT_TRUE(pair.host.broken().ok());
  EXPECT_EQ(pair.at_guest.resets.at(id).message, "enough");
  EXPECT_TRUE(pair.at_host.data.empty());
  EXPECT_EQ(pair.guest.streams(), 0u);
}

TEST(Tunnel, GoesOnInAnotherVmmInTheMiddleOfBulk) {
  for (std::size_t cut = 1; cut < 60'000; cut += 4'999) {
    Pair pair;
    const auto id = pair.open();
    const auto down = pattern(kStreamBufferBytes, 5), up = pattern(kStreamBufferBytes, 6);
    (void)pair.host.send(id, down);
    (void)pair.guest.send(id, up);
    Pair::move(pair.host, pair.guest, cut);
    Pair::move(pair.guest, pair.host, 61'000 - cut);
    (void)pair.host.output();
    pair.host.start(LinkStart::go_on, pair.random);
    pair.run();
    EXPECT_EQ(pair.at_guest.data[id], down) << cut;
    EXPECT_EQ(pair.at_host.data[id], up) << cut;
    EXPECT_TRUE(pair.at_host.resets.empty());
  }
}

TEST(Tunnel, ANewEpochResetsTheStreamsOfBeforeOnBothSides) {
  Pair pair;
  const auto old = pair.open();
  (void)pair.host.send(old, std::string(1000, 'o'));
  pair.host.start(LinkStart::new_epoch, pair.random);
  EXPECT_EQ(pair.at_host.resets.at(old).code, ErrorCode::aborted);
  const auto fresh = pair.open();
  EXPECT_NE(fresh, old);
  EXPECT_EQ(pair.at_guest.resets.count(old), 1u);
  pair.send_all(pair.host, fresh, "hello");
  EXPECT_EQ(pair.at_guest.data[fresh], "hello");
  EXPECT_EQ(pair.at_guest.data.count(old), 0u);
}

TEST(Tunnel, WhatWasOpenedBeforeTheGuestIsThereIsOpenedThen) {
  SeededRandom random(1);
  Recorder at_host, at_guest;
  Tunnel host(Side::host, at_host), guest(Side::guest, at_guest);
  at_host.tunnel = &host;
  at_guest.tunnel = &guest;
  auto id = host.open(StreamKind::agent);
  (void)host.send(*id, "request");
  EXPECT_TRUE(host.output().empty());
  host.start(LinkStart::new_epoch, random);
  // The first VMM never got so far.
  host.start(LinkStart::go_on, random);
  while (Pair::move(host, guest) | Pair::move(guest, host)) {
  }
  EXPECT_EQ(at_guest.opened.at(*id), StreamKind::agent);
  EXPECT_EQ(at_guest.data[*id], "request");
  EXPECT_TRUE(at_host.resets.empty());
}

TEST(Tunnel, StreamsAreLimited) {
  Pair pair;
  for (std::size_t i = 0; i < kMaxStreams; ++i) ASSERT_TRUE(pair.host.open(StreamKind::session).ok());
  auto refused = pair.host.open(StreamKind::session);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::resource_exhausted);
}

/// A guest that was taken over: whole records with the right trailer, but against the rules. Each must end the link on the host.
TEST(Tunnel, AGuestThatBreaksTheRulesIsCutOff) {
  struct Raw : LinkEvents {
    Status on_record(const Record&) override { return {}; }
    void on_synced(LinkStart) override {}
  };
  const auto breaks = [](RecordType type, std::uint32_t stream, const std::string& payload) {
    SeededRandom random(3);
    Recorder at_host;
    Tunnel host(Side::host, at_host);
    at_host.tunnel = &host;
    Raw raw;
    Link guest(Side::guest, raw);
    host.start(LinkStart::new_epoch, random);
    const auto open = host.open(StreamKind::session);
    const auto exchange = [&] {
      for (int i = 0; i < 100; ++i) {
        const auto down = std::string(host.output());
        host.sent(down.size());
        guest.receive(down);
        const auto up = std::string(guest.output());
        guest.sent(up.size());
        host.receive(up);
      }
    };
    exchange();
    at_host.consume = false;
    guest.push(type, stream == 0 ? *open : stream, payload);
    for (int i = 0; i < 40 && type == RecordType::data && payload.size() == kMaxRecordBytes; ++i) guest.push(type, *open, payload);
    exchange();
    if (host.broken().ok()) return false;
    EXPECT_EQ(at_host.resets.count(*open), 1u) << "streams of a broken link are reset";
    return true;
  };
  EXPECT_TRUE(breaks(RecordType::open, 77, "\x01"));
  EXPECT_TRUE(breaks(RecordType::data, 0, ""));
  EXPECT_TRUE(breaks(RecordType::data, 0, std::string(kMaxRecordBytes, 'm'))) << "more than its credit";
  EXPECT_TRUE(breaks(RecordType::window, 0, "abc"));
  EXPECT_TRUE(breaks(RecordType::window, 0, std::string(4, '\0')));
  EXPECT_TRUE(breaks(RecordType::window, 0, std::string(4, '\xff')));
  EXPECT_FALSE(breaks(RecordType::data, 99, "on a stream that isn't there"));
  EXPECT_FALSE(breaks(RecordType::end, 0, ""));
}

}  // namespace
}  // namespace harena::session
