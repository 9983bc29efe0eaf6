#include "sdk/session/tunnel/link.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace harena::session {
namespace {

struct Collector : LinkEvents {
  Status on_record(const Record& record) override {
    records.emplace_back(record.payload);
    return {};
  }
  void on_synced(LinkStart start) override { synced.push_back(start); }
  std::vector<std::string> records;
  std::vector<LinkStart> synced;
};

struct Ends {
  Ends() : host(Side::host, at_host), guest(Side::guest, at_guest) {}

  static std::string drain(Link& link) {
    std::string all;
    for (auto bytes = link.output(); !bytes.empty(); bytes = link.output()) {
      all.append(bytes);
      link.sent(bytes.size());
    }
    return all;
  }
  /// Until both are silent.
  void run() {
    for (bool more = true; more;) {
      const auto down = drain(host);
      guest.receive(down);
      const auto up = drain(guest);
      host.receive(up);
      more = !down.empty() || !up.empty();
    }
  }
  void begin() {
    host.start(LinkStart::new_epoch, random);
    run();
  }

  SeededRandom random{7};
  Collector at_host, at_guest;
  Link host, guest;
};

TEST(Link, RecordsArriveOnceAndInOrderInPiecesOfAnySize) {
  for (std::size_t piece : {1u, 2u, 7u, 64u, 5000u}) {
    Ends ends;
    ends.begin();
    ASSERT_TRUE(ends.host.synced());
    for (int i = 0; i < 50; ++i) ends.host.push(RecordType::data, 1, std::string(static_cast<std::size_t>(i) * 37, 'a'));
    auto bytes = Ends::drain(ends.host);
    for (std::size_t at = 0; at < bytes.size(); at += piece) ends.guest.receive(std::string_view(bytes).substr(at, piece));
    ASSERT_EQ(ends.at_guest.records.size(), 50u);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(ends.at_guest.records[i].size(), i * 37);
  }
}

TEST(Link, NothingIsSentBeforeTheGuestAnswers) {
  Ends ends;
  ends.host.push(RecordType::data, 1, "early");
  ends.host.start(LinkStart::new_epoch, ends.random);
  const auto bytes = Ends::drain(ends.host);
  EXPECT_EQ(bytes.find("early"), std::string::npos);
  ends.guest.receive(bytes);
  ends.run();
  EXPECT_EQ(ends.at_guest.records, std::vector<std::string>{"early"});
}

/// The pipe is cut after `down` bytes towards the guest and `up` bytes towards the host; the next VMM knows nothing of what was in it.
void cut_and_go_on(std::size_t down, std::size_t up) {
  Ends ends;
  ends.begin();
  for (int i = 0; i < 4; ++i) {
    ends.host.push(RecordType::data, 1, "down-" + std::to_string(i));
    ends.guest.push(RecordType::data, 1, "up-" + std::to_string(i));
  }
  ends.guest.receive(Ends::drain(ends.host).substr(0, down));
  const auto sent_up = Ends::drain(ends.guest);
  ends.host.receive(std::string_view(sent_up).substr(0, up));

  ends.host.start(LinkStart::go_on, ends.random);
  // The rest of what the guest had sent comes late, as a virtqueue may hold it.
  ends.host.receive(std::string_view(sent_up).substr(up));
  ends.run();
  EXPECT_EQ(ends.at_guest.records, (std::vector<std::string>{"down-0", "down-1", "down-2", "down-3"})) << down << " " << up;
  EXPECT_EQ(ends.at_host.records, (std::vector<std::string>{"up-0", "up-1", "up-2", "up-3"})) << down << " " << up;
}

TEST(Link, GoesOnWhereverThePipeWasCut) {
  const std::size_t all = 4 * (4 + kRecordHeaderBytes + kRecordTrailerBytes);  // the shorter direction: "up-0" ... "up-3"
  for (std::size_t at = 0; at <= all; ++at) cut_and_go_on(at, all - at);
}

TEST(Link, SynchronisesAgainWhileItSynchronises) {
  Ends ends;
  ends.begin();
  ends.host.push(RecordType::data, 1, "kept");
  ends.host.start(LinkStart::go_on, ends.random);
  const auto first = Ends::drain(ends.host);
  for (std::size_t at = 0; at <= first.size(); at += 61) {
    ends.guest.receive(std::string_view(first).substr(0, at));
    const auto answer = Ends::drain(ends.guest);
    ends.host.start(LinkStart::go_on, ends.random);
    ends.host.receive(answer);
    EXPECT_FALSE(ends.host.synced()) << "an answer to an older SYNC must not count";
    ends.run();
    ASSERT_TRUE(ends.host.synced());
    ASSERT_EQ(ends.at_guest.records, std::vector<std::string>{"kept"});
    ends.host.start(LinkStart::go_on, ends.random);
    (void)Ends::drain(ends.host);
  }
}

TEST(Link, ANewEpochForgetsWhatWasOnItsWay) {
  Ends ends;
  ends.begin();
  ends.host.push(RecordType::data, 1, "old");
  (void)Ends::drain(ends.host);
  ends.guest.push(RecordType::data, 1, "old");
  ends.host.start(LinkStart::new_epoch, ends.random);
  ends.host.push(RecordType::data, 2, "new");
  ends.host.receive(Ends::drain(ends.guest));
  ends.run();
  EXPECT_EQ(ends.at_guest.records, std::vector<std::string>{"new"});
  EXPECT_TRUE(ends.at_host.records.empty());
  EXPECT_EQ(ends.at_guest.synced.back(), LinkStart::new_epoch);
}

TEST(Link, AGuestThatStartedAnewIsNotTakenForTheOldOne) {
  Ends ends;
  ends.begin();
  Link rebooted(Side::guest, ends.at_guest);
  ends.host.start(LinkStart::go_on, ends.random);
  rebooted.receive(Ends::drain(ends.host));
  ends.host.receive(Ends::drain(rebooted));
  ASSERT_FALSE(ends.host.broken().ok());
  Status broken = ends.host.broken();
  EXPECT_EQ(broken.error().code, ErrorCode::aborted);
}

TEST(Link, KeepsBoundedBytesAndAcknowledges) {
  Ends ends;
  ends.begin();
  const std::string bulk(kMaxRecordBytes, 'b');
  for (int round = 0; round < 200; ++round) {
    std::size_t pushed = 0;
    while (ends.host.room()) {
      ends.host.push(RecordType::data, 1, bulk);
      ASSERT_LE(++pushed * bulk.size(), kMaxUnackedBytes + bulk.size());
    }
    ASSERT_GT(pushed, 0u) << "acks give room again";
    ends.run();
  }
}

TEST(Link, AForgedRecordEndsTheLinkOnTheHost) {
  Ends ends;
  ends.begin();
  // A record as the protocol has it, by somebody who doesn't know the token.
  std::string forged("\x04\x00\x02\x00\x01\x00\x00\x00" "evil" "\x01\x02\x03\x04", 16);
  ends.host.receive(forged);
  ASSERT_FALSE(ends.host.broken().ok());
  EXPECT_TRUE(ends.at_host.records.empty());
  // And it stays so.
  ends.guest.push(RecordType::data, 1, "late");
  ends.host.receive(Ends::drain(ends.guest));
  EXPECT_TRUE(ends.at_host.records.empty());
}

TEST(Link, TheSyncMarkInUserDataMeansNothing) {
  Ends ends;
  ends.begin();
  const std::string mark = "\x1dHARENA-SYNC-1\r\n" + std::string(80, '\1');
  for (int i = 0; i < 3; ++i) ends.host.push(RecordType::data, 1, mark);
  ends.run();
  EXPECT_EQ(ends.at_guest.records, std::vector<std::string>(3, mark));
  EXPECT_EQ(ends.at_guest.synced.size(), 1u);
}

TEST(Link, GarbageBeforeTheFirstSyncIsSkipped) {
  Ends ends;
  ends.guest.receive("\x1dHARENA-SYN" + std::string(100'000, 'x') + "\x1dHARENA");
  ends.begin();
  EXPECT_TRUE(ends.guest.synced());
  EXPECT_TRUE(ends.host.synced());
}

}  // namespace
}  // namespace harena::session
