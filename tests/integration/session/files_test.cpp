#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <fstream>

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

TEST_F(Files, AskedPartOfTheOpenedFile) {
  ASSERT_TRUE(await(put(path("f"), "0123456789")));
  auto task = [&](std::optional<FileRange> range) -> Task<Result<std::string>> {
    FileReadRequest request;
    request.path = path("f");
    request.ask = true;
    HARENA_CO_TRY(auto reader, co_await client.read_file(request));
    // Replaced meanwhile: what was opened is what is read.
    HARENA_CO_TRY_STATUS(co_await put(path("f"), "replaced"));
    if (!range) {
      HARENA_CO_TRY_STATUS(co_await reader.decline());
    } else {
      HARENA_CO_TRY_STATUS(co_await reader.choose(*range));
    }
    co_return co_await reader.next();
  };
  EXPECT_EQ(*await(task(FileRange{2, 3})), "234");
  EXPECT_EQ(*await(task(std::nullopt)), "");
  EXPECT_EQ(await(task(FileRange{200, 3})).error().code, ErrorCode::out_of_range);
  EXPECT_EQ(*await(get(path("f"))), "replaced");
}

/// A file system without unnamed files, in namespaces of the test's own: POSIX message queues.
class NamedUploads : public Files {
 protected:
  static void SetUpTestSuite() {
    if (::geteuid() != 0 || ::unshare(CLONE_NEWNS | CLONE_NEWIPC) != 0) return;
    ::mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
    char pattern[] = "/tmp/harena-mqueue-XXXXXX";
    folder = ::mkdtemp(pattern);
    mounted = ::mount("mqueue", folder.c_str(), "mqueue", 0, nullptr) == 0;
  }
  static void TearDownTestSuite() {
    if (mounted) ::umount2(folder.c_str(), MNT_DETACH);
    if (!folder.empty()) ::rmdir(folder.c_str());
  }
  void SetUp() override {
    if (!mounted) GTEST_SKIP() << "needs root and the mqueue file system, to have one without O_TMPFILE";
    Files::SetUp();
  }
  static std::vector<std::string> names() {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) found.push_back(entry.path().filename());
    return found;
  }
  void wait_for(std::size_t count) {
    for (int i = 0; i < 2000 && names().size() != count; ++i) ::usleep(10'000);
    EXPECT_EQ(names().size(), count);
  }
  pid_t worker() const {
    std::ifstream children("/proc/" + std::to_string(shim.pid()) + "/task/" + std::to_string(shim.pid()) + "/children");
    pid_t pid = 0;
    // The youngest: the one before may be on its way out.
    for (pid_t next = 0; children >> next;) pid = next;
    return pid;
  }
  Task<Result<FileWriter>> begin_upload() {
    FileWriteRequest request;
    request.path = folder + "/upload";
    co_return co_await client.write_file(request);
  }

  static inline std::string folder;
  static inline bool mounted = false;
};

TEST_F(NamedUploads, AKilledWorkerLeavesNothing) {
  for (int i = 0; i < 5; ++i) {
    auto writer = await(begin_upload());
    ASSERT_TRUE(writer) << writer.error().describe();
    ASSERT_EQ(names().size(), 1u);
    EXPECT_TRUE(names()[0].starts_with(".harena-upload-"));
    ASSERT_GT(worker(), 0);
    ::kill(worker(), SIGKILL);
    EXPECT_EQ(await(writer->finish()).error().code, ErrorCode::unavailable);
    wait_for(0);
  }
}

TEST_F(NamedUploads, AClientThatLeftWithAStuckWorkerLeavesNothing) {
  std::optional<Result<FileWriter>> writer = await(begin_upload());
  ASSERT_TRUE(*writer);
  pid_t pid = worker();
  ::kill(pid, SIGSTOP);
  writer.reset();
  // The shim gives it its time, kills it, and cleans up behind it.
  wait_for(0);
}

}  // namespace
}  // namespace harena::session
