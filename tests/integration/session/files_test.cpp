#include <sys/stat.h>

#include "tests/integration/session/shim_fixture.hpp"

namespace harena::session {
namespace {

class Files : public SessionTest {
 protected:
  std::string path(const std::string& name) { return shim.folder() + "/" + name; }

  Task<Result<FileStat>> put(std::string where, std::string bytes, bool parents = false) {
    FileWriteRequest request;
    request.path = where;
    request.parents = parents;
    HARENA_CO_TRY(auto writer, co_await client.write_file(request));
    HARENA_CO_TRY_STATUS(co_await writer.write(bytes));
    co_return co_await writer.finish();
  }
  Task<Result<std::string>> get(std::string where, std::uint64_t offset = 0, std::optional<std::uint64_t> length = {}) {
    FileReadRequest request;
    request.path = where;
    request.offset = offset;
    request.length = length;
    HARENA_CO_TRY(auto reader, co_await client.read_file(request));
    std::string all;
    for (;;) {
      HARENA_CO_TRY(auto bytes, co_await reader.next());
      if (bytes.empty()) co_return all;
      all += bytes;
    }
  }
};

TEST_F(Files, WrittenReadRangedAndReplaced) {
  std::string data(5 << 20, 'x');
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i >> 3);
  auto stat = await(put(path("a/b/c"), data, true));
  ASSERT_TRUE(stat) << stat.error().describe();
  EXPECT_EQ(stat->size, data.size());
  EXPECT_EQ(*await(get(path("a/b/c"))), data);
  EXPECT_EQ(*await(get(path("a/b/c"), 1000, 77)), data.substr(1000, 77));
  EXPECT_EQ(await(get(path("a/b/c"), data.size() + 1)).error().code, ErrorCode::out_of_range);
  ::chmod(path("a/b/c").c_str(), 0751);
  EXPECT_EQ(await(put(path("a/b/c"), "new"))->mode, 0751u);
  EXPECT_EQ(*await(get(path("a/b/c"))), "new");
}

TEST_F(Files, NamesAreBytes) {
  for (std::string name : {std::string("\xe6\x96\x87 \"a'b.txt"), std::string("new\nline"), std::string("\xff\xfe"), std::string(255, 'n'), std::string(".hidden"), std::string("a%2Fb")}) {
    ASSERT_TRUE(await(put(path(name), name))) << name;
    EXPECT_EQ(*await(get(path(name))), name);
  }
}

TEST_F(Files, InterruptedUploadLeavesNothing) {
  auto task = [&]() -> Task<Status> {
    FileWriteRequest request;
    request.path = path("up/half");
    request.parents = true;
    HARENA_CO_TRY(auto writer, co_await client.write_file(request));
    HARENA_CO_TRY_STATUS(co_await writer.write(std::string(100'000, 'x')));
    co_return ok_status();
  };
  ASSERT_TRUE(await(task()));
  // The worker sees the end of the connection on its own time.
  auto left = must_run(shell("for i in 1 2 3 4 5 6 7 8 9 10; do ls -A " + path("up") + " | grep -q . || break; sleep 0.1; done; ls -A " + path("up")));
  EXPECT_EQ(left.out, "");
}

TEST_F(Files, NeverFifoNorDeviceNorFolder) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0644), 0);
  EXPECT_EQ(await(get(path("fifo"))).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(await(put(path("fifo"), "x")).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(await(get("/dev/zero")).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(await(get("/proc/self/root/etc/passwd")).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(await(get(path(""))).error().code, ErrorCode::failed_precondition);
  EXPECT_EQ(await(get(path("none"))).error().code, ErrorCode::not_found);
}

TEST_F(Files, ListedInPagesAsInOne) {
  for (auto name : {"t/a/1", "t/a/2", "t/b", "t/c/d/e", "t/z"}) ASSERT_TRUE(await(put(path(name), "x", true)));
  FileListRequest request;
  request.path = path("t");
  request.recursive = true;
  auto whole = await(client.list_files(request));
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->entries.size(), 8u);
  EXPECT_EQ(whole->cursor, "");
  std::vector<FileStat> paged;
  request.limit = 3;
  do {
    auto page = await(client.list_files(request));
    ASSERT_TRUE(page);
    paged.insert(paged.end(), page->entries.begin(), page->entries.end());
    request.cursor = page->cursor;
  } while (!request.cursor.empty());
  EXPECT_EQ(paged, whole->entries);
}

TEST_F(Files, NamesAndAttributes) {
  ASSERT_TRUE(await(put(path("f"), "x")));
  FileSymlinkRequest link;
  link.target = "f";
  link.path = path("l");
  EXPECT_EQ(await(client.symlink(link))->target, "f");
  FileChmodRequest mode;
  mode.path = path("f");
  mode.mode = 0600;
  EXPECT_EQ(await(client.chmod(mode))->mode, 0600u);
  mode.path = path("l");
  EXPECT_EQ(await(client.chmod(mode)).error().code, ErrorCode::failed_precondition);
  FileMoveRequest move;
  move.from = path("f");
  move.to = path("g");
  ASSERT_TRUE(await(client.move(move)));
  EXPECT_EQ(*await(get(path("g"))), "x");
  ASSERT_TRUE(await(put(path("l"), "through the link")));
  EXPECT_EQ(*await(get(path("f"))), "through the link");
  FileMkdirRequest folder;
  folder.path = path("d/e");
  EXPECT_EQ(await(client.mkdir(folder)).error().code, ErrorCode::not_found);
  folder.parents = true;
  ASSERT_TRUE(await(client.mkdir(folder)));
  ASSERT_TRUE(await(client.mkdir(folder)));
  FileRemoveRequest remove;
  remove.path = path("d");
  EXPECT_EQ(await(client.remove(remove)).error().code, ErrorCode::failed_precondition);
  remove.recursive = true;
  ASSERT_TRUE(await(client.remove(remove)));
  FilePathRequest stat;
  stat.path = path("d");
  EXPECT_EQ(await(client.stat(stat)).error().code, ErrorCode::not_found);
}

TEST_F(Files, AsAUserWithThatUsersRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become another user";
  ::chmod(shim.folder().c_str(), 0755);
  ASSERT_TRUE(await(put(path("secret"), "x")));
  ::chmod(path("secret").c_str(), 0600);
  FileReadRequest request;
  request.path = path("secret");
  request.user = "nobody";
  EXPECT_EQ(await(client.read_file(request)).error().code, ErrorCode::permission_denied);
}

TEST_F(Files, PutIsVisibleAtOnce) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(await(put(path("v"), std::to_string(i))));
    EXPECT_EQ(must_run(argv({"cat", path("v")})).out, std::to_string(i));
  }
}

}  // namespace
}  // namespace harena::session
