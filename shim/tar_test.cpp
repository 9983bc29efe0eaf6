#include <gtest/gtest.h>
#include <sys/stat.h>

#include "shim/tar_writer.hpp"

namespace harena::shim {
namespace {

class Text : public TarSource {
 public:
  Text(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  Result<std::string_view> next() override {
    auto part = std::string_view(bytes_).substr(at_, step_);
    at_ += part.size();
    return part;
  }

 private:
  std::string bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

class Kept : public TarSink {
 public:
  Status begin(const TarEntry& entry) override {
    if (entry.path == refused) return make_error(ErrorCode::aborted, "refused");
    entries.push_back(entry);
    contents.emplace_back(static_cast<std::size_t>(std::min<std::int64_t>(entry.size, 1 << 20)), '\0');
    return {};
  }
  Status data(std::int64_t offset, std::string_view bytes) override {
    written += bytes.size();
    if (offset + static_cast<std::int64_t>(bytes.size()) > entries.back().size) return make_error(ErrorCode::internal, "past the size");
    auto at = static_cast<std::size_t>(offset);
    if (at < contents.back().size()) contents.back().replace(at, bytes.size(), bytes);
    return {};
  }
  Status end(const TarEntry&) override { return {}; }

  std::string refused;
  std::vector<TarEntry> entries;
  std::vector<std::string> contents;
  std::size_t written = 0;
};

TarEntry file(std::string path, std::int64_t size) {
  TarEntry entry;
  entry.kind = TarKind::file;
  entry.path = std::move(path);
  entry.mode = 04750;
  entry.uid = 3'000'000'000;
  entry.gid = 7;
  entry.mtime_s = -5;
  entry.mtime_ns = 123'456'789;
  entry.size = size;
  entry.xattrs = {{"security.capability", std::string("\x01\0\0\x02", 4)}, {"user.empty", ""}, {"user.\xff", "="}};
  return entry;
}

std::string written(const std::function<void(TarWriter&)>& fill) {
  std::string archive;
  auto writer = TarWriter::create([&](std::string_view bytes) -> Status {
    archive += bytes;
    return {};
  });
  EXPECT_TRUE(writer);
  fill(**writer);
  EXPECT_TRUE((*writer)->finish().ok());
  return archive;
}

TEST(Tar, ComesBackAsItWas) {
  TarEntry link;
  link.kind = TarKind::symlink;
  link.path = std::string(300, 'd') + "/\xe6\x96\x87\n";
  link.target = "\xff\xfe";
  TarEntry hard = link;
  hard.kind = TarKind::hard_link;
  hard.path = "\xff hard";
  hard.target = link.path;
  auto archive = written([&](TarWriter& writer) {
    EXPECT_TRUE(writer.begin(file("f", 4), S_IFREG, {}).ok());
    EXPECT_TRUE(writer.data("abcd").ok());
    EXPECT_TRUE(writer.begin(link, S_IFLNK, {}).ok());
    EXPECT_TRUE(writer.begin(hard, S_IFREG, {}).ok());
  });
  for (std::size_t step : {std::size_t{1}, std::size_t{513}, archive.size()}) {
    Text source(archive, step);
    Kept kept;
    auto status = read_tar(source, kept);
    ASSERT_TRUE(status.ok()) << status.error().describe();
    ASSERT_EQ(kept.entries.size(), 3u);
    auto& got = kept.entries[0];
    auto want = file("f", 4);
    auto numbers = [](const TarEntry& one) { return std::tuple(one.mode, one.uid, one.gid, one.mtime_s, one.mtime_ns, one.size); };
    EXPECT_EQ(numbers(got), numbers(want));
    std::sort(got.xattrs.begin(), got.xattrs.end());
    EXPECT_EQ(got.xattrs, want.xattrs);
    EXPECT_EQ(kept.contents[0], "abcd");
    EXPECT_EQ(kept.entries[1].path, link.path);
    EXPECT_EQ(kept.entries[1].target, link.target);
    EXPECT_EQ(kept.entries[2].kind, TarKind::hard_link);
    EXPECT_EQ(kept.entries[2].path, hard.path);
    EXPECT_EQ(kept.entries[2].target, hard.target);
  }
}

TEST(Tar, HolesCostNothing) {
  const std::int64_t size = std::int64_t{1} << 40;
  auto archive = written([&](TarWriter& writer) {
    EXPECT_TRUE(writer.begin(file("sparse", size), S_IFREG, std::vector<TarRegion>{{0, 3}, {500'000, 2}}).ok());
    EXPECT_TRUE(writer.data("abc").ok());
    EXPECT_TRUE(writer.hole(499'997).ok());
    EXPECT_TRUE(writer.data("de").ok());
    EXPECT_TRUE(writer.hole(size - 500'002).ok());
    EXPECT_TRUE(writer.begin(file("hole", 1000), S_IFREG, std::vector<TarRegion>{}).ok());
    EXPECT_TRUE(writer.hole(1000).ok());
  });
  EXPECT_LT(archive.size(), 20'000u);
  Text source(archive, 4096);
  Kept kept;
  auto status = read_tar(source, kept);
  ASSERT_TRUE(status.ok()) << status.error().describe();
  EXPECT_EQ(kept.entries[0].size, size);
  EXPECT_EQ(kept.contents[0].substr(0, 3), "abc");
  EXPECT_EQ(kept.contents[0].substr(500'000, 2), "de");
  EXPECT_EQ(kept.entries[1].size, 1000);
  EXPECT_LE(kept.written, 1024u);
}

TEST(Tar, EveryCutIsSaid) {
  auto archive = written([](TarWriter& writer) {
    EXPECT_TRUE(writer.begin(file("f", 600), S_IFREG, {}).ok());
    EXPECT_TRUE(writer.data(std::string(600, 'x')).ok());
    EXPECT_TRUE(writer.begin(file("g", 0), S_IFREG, {}).ok());
  });
  // The marker is two blocks; one is enough.
  for (std::size_t size = 0; size + 1024 < archive.size(); size += 128) {
    Text source(archive.substr(0, size), 4096);
    Kept kept;
    auto status = read_tar(source, kept);
    ASSERT_FALSE(status.ok()) << size << " of " << archive.size();
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument) << status.error().describe();
  }
}

TEST(Tar, WhatTheSinkRefusesIsTheAnswer) {
  auto archive = written([](TarWriter& writer) { EXPECT_TRUE(writer.begin(file("f", 0), S_IFREG, {}).ok()); });
  Text source(archive, 4096);
  Kept kept;
  kept.refused = "f";
  EXPECT_EQ(read_tar(source, kept).error().code, ErrorCode::aborted);
}

}  // namespace
}  // namespace harena::shim
