// Imports for real: mkfs.erofs, skopeo, a registry on loopback, and the result looked at through EROFS and overlayfs.

#include "core/image/import.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "core/image/catalog.hpp"
#include "core/image/foreign_image.hpp"
#include "core/image/test_mount.hpp"
#include "core/image/test_oci.hpp"
#include "core/image/test_registry.hpp"
#include "core/image/test_store.hpp"

namespace harena::image {
namespace {

/// "unpack" of "unpack, layer 2 of 5".
std::string step_of(const nlohmann::json& report) {
  const auto step = report.at("step").get<std::string>();
  return step.substr(0, step.find(','));
}


using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Import : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "an import keeps owners and so needs root";
    if (std::system("mkfs.erofs --help >/dev/null 2>&1") != 0) GTEST_SKIP() << "mkfs.erofs (erofs-utils) isn't installed";
  }
  Result<Imported> run(const std::string& source, ImportRequest request) {
    request.source = *ImportSource::parse(source);
    return importer_.import(call_, request);
  }
  static ImportRequest as(const std::string& reference) { return {.source = {}, .reference = *ImageReference::parse(reference)}; }
  std::vector<std::string> paths(const Manifest& manifest) const {
    std::vector<std::string> out;
    for (const auto& layer : manifest.layers) out.push_back(store_.path(layer.digest.str()));
    return out;
  }
  std::string look(const Manifest& manifest, const std::function<std::string(const fs::path&)>& see) {
    fs::create_directories(folder_.path("mnt"));
    return look_at_stack(paths(manifest), folder_.path("mnt"), see);
  }
  /// Two layers: the upper changes, hides and empties what the lower has.
  std::vector<std::string> two_layers() {
    TestTar(folder_.path("1.tar")).folder("etc").file("etc/keep", "1").file("etc/gone", "1").file("etc/changed", "1").folder("var").file("var/old", "1").symlink("bin", "usr/bin").folder("usr").folder("usr/bin").file("usr/bin/sh", "#!", {.mode = 04755});
    TestTar(folder_.path("2.tar")).file("etc/.wh.gone", "").file("etc/changed", "2").folder("var").file("var/.wh..wh..opq", "").file("var/new", "2").file("bin/tool", "2");
    return {read_file(folder_.path("1.tar")), read_file(folder_.path("2.tar"))};
  }
  static std::string see_two_layers(const fs::path& root) {
    if (fs::exists(root / "etc/gone")) return "etc/gone is still there";
    if (read_file(root / "etc/changed") != "2") return "etc/changed is the old one";
    if (read_file(root / "etc/keep") != "1") return "etc/keep is lost";
    if (fs::exists(root / "var/old")) return "var isn't opaque";
    if (read_file(root / "var/new") != "2") return "var/new is lost";
    if (read_file(root / "usr/bin/tool") != "2") return "bin/tool isn't in usr/bin";
    if (!fs::is_symlink(root / "bin")) return "bin is no link any more";
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().filename().string().starts_with(".wh.")) return entry.path().string();
      if (fs::is_character_file(entry.symlink_status())) return entry.path().string() + " shows as a device";
    }
    struct stat status{};
    ::stat((root / "usr/bin/sh").c_str(), &status);
    return (status.st_mode & 07777) == 04755 ? "" : "usr/bin/sh lost its mode";
  }
  void expect_all_right(const std::string& seen) {
    if (seen.starts_with("skip: ")) GTEST_SKIP() << seen.substr(6);
    EXPECT_EQ(seen, "");
  }
  std::size_t left_in_work() const { return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path("work")), {})) - 1; }

  TestFolder folder_;
  FolderStore store_{folder_.path("store")};
  PosixSpawner spawner_;
  SystemClock clock_;
  SystemRandom random_;
  std::unique_ptr<WorkFolder> work_ = *WorkFolder::open(folder_.path("work"), random_);
  StoreGuard guard_;
  CallContext call_;
  Importer importer_{store_, spawner_, *work_, clock_, guard_, "amd64"};
  Catalog catalog_{store_, guard_};
};

TEST_F(Import, AFolderBecomesALayerThatKeepsEverything) {
  const auto source = folder_.path("src");
  write_file(source + "/\xff name", "bytes");
  ::chown((source + "/\xff name").c_str(), 1234, 70000);
  ::chmod((source + "/\xff name").c_str(), 06711);
  ::setxattr((source + "/\xff name").c_str(), "user.x", "y", 1, 0);
  fs::create_hard_link(source + "/\xff name", source + "/second");
  fs::create_symlink("/dangling", source + "/link");
  ::mknod((source + "/null").c_str(), S_IFCHR | 0666, ::makedev(1, 3));
  ::mkfifo((source + "/pipe").c_str(), 0600);
  const timespec old[2] = {{1'000'000'000, 5}, {1'000'000'000, 5}};
  ::utimensat(AT_FDCWD, (source + "/\xff name").c_str(), old, 0);
  auto request = as("root/folder:v1");
  request.config.cmd = {"sh"};
  const auto imported = run("dir:" + source, request);
  ASSERT_TRUE(imported.ok()) << imported.error().describe();
  EXPECT_THAT(imported->notes, ::testing::ElementsAre(HasSubstr("1 device nodes were left out")));
  EXPECT_EQ(imported->manifest.config.architecture, "amd64");
  EXPECT_EQ(left_in_work(), 0u);
  expect_all_right(look(imported->manifest, [](const fs::path& root) -> std::string {
    struct stat status{};
    ::stat((root / "\xff name").c_str(), &status);
    if (status.st_uid != 1234 || status.st_gid != 70000 || (status.st_mode & 07777) != 06711) return "owner or mode";
    if (status.st_mtim.tv_sec != 1'000'000'000 || status.st_mtim.tv_nsec != 5) return "time";
    if (status.st_nlink != 2) return "hard link";
    char value[8];
    if (::getxattr((root / "second").c_str(), "user.x", value, sizeof value) != 1) return "xattr";
    if (fs::exists(root / "null") || !fs::is_fifo(root / "pipe")) return "special files";
    return read_file(root / "second") == "bytes" && fs::read_symlink(root / "link") == "/dangling" ? "" : "content";
  }));
}

TEST_F(Import, TheSameInputGivesTheSameDigest) {
  const auto source = folder_.path("src");
  for (int i = 0; i < 300; ++i) write_file(source + "/d" + std::to_string(i % 7) + "/f" + std::to_string(i), std::string(i * 37, 'x'));
  const auto first = run("dir:" + source, as("root/a:v1"));
  ASSERT_TRUE(first.ok()) << first.error().describe();
  std::system(("cp -a '" + source + "' '" + folder_.path("copy") + "' && mv '" + source + "' '" + source + ".old' && mv '" + folder_.path("copy") + "' '" + source + "'").c_str());
  const auto second = run("dir:" + source, as("root/b:v1"));
  EXPECT_EQ(first->digest, second->digest);
  std::system(("tar -C '" + source + "' -cf '" + folder_.path("t.tar") + "' . && cp '" + folder_.path("t.tar") + "' '" + folder_.path("u.tar") + "' && gzip -9 '" + folder_.path("u.tar") + "'; zstd -q '" + folder_.path("t.tar") + "' 2>/dev/null; xz -k '" + folder_.path("t.tar") + "'").c_str());
  for (const auto* name : {"t.tar", "u.tar.gz", "t.tar.zst", "t.tar.xz"}) {
    if (!fs::exists(folder_.path(name))) continue;  // that compressor isn't installed
    const auto again = run("tar:" + folder_.path(name), as("root/c:v1"));
    ASSERT_TRUE(again.ok()) << name << again.error().describe();
    EXPECT_EQ(again->manifest.layers[0].size, first->manifest.layers[0].size);
  }
}

TEST_F(Import, AnOciLayoutWithWhiteouts) {
  TestLayout layout(folder_.path("oci"));
  layout.write_index({layout.image(two_layers())});
  const auto imported = run("oci:" + layout.folder(), as("root/two:v1"));
  ASSERT_TRUE(imported.ok()) << imported.error().describe();
  EXPECT_EQ(imported->manifest.layers.size(), 2u);
  EXPECT_EQ(imported->manifest.config.env.at("PATH"), "/bin");
  expect_all_right(look(imported->manifest, see_two_layers));
}

TEST_F(Import, ALayerThatIsNotWhatItsImageSaysIsDataLoss) {
  TestLayout layout(folder_.path("oci"));
  const auto tars = two_layers();
  layout.write_index({layout.image(tars)});
  write_file(layout.folder() + "/blobs/sha256/" + std::string(Digest::of(tars[1]).hex()), tars[0]);
  const auto imported = run("oci:" + layout.folder(), as("root/two:v1"));
  EXPECT_EQ(imported.error().code, ErrorCode::data_loss);
  EXPECT_THAT(imported.error().describe(), HasSubstr("layer 2 of 2"));
  EXPECT_TRUE(store_.tags.empty());
  EXPECT_EQ(left_in_work(), 0u);
}

TEST_F(Import, EmptyAndRepeatedLayersAreLaidOnce) {
  TestLayout layout(folder_.path("oci"));
  { TestTar empty(folder_.path("e.tar")); }
  const auto tars = two_layers();
  layout.write_index({layout.image({tars[0], read_file(folder_.path("e.tar")), tars[0]})});
  const auto imported = run("oci:" + layout.folder(), as("root/x:v1"));
  ASSERT_TRUE(imported.ok()) << imported.error().describe();
  EXPECT_EQ(imported->manifest.layers.size(), 1u);
}

TEST_F(Import, ArchivesOfDockerAndOci) {
  if (std::system("skopeo --version >/dev/null 2>&1") != 0) GTEST_SKIP() << "skopeo isn't installed";
  TestLayout layout(folder_.path("oci"));
  layout.write_index({TestLayout::named(layout.image(two_layers()), "v1")});
  const auto copy = [&](const std::string& to) {
    return std::system(("skopeo --insecure-policy copy -q oci:" + layout.folder() + ":v1 " + to + " >/dev/null").c_str());
  };
  const auto direct = run("oci:" + layout.folder(), as("root/a:v1"));
  ASSERT_TRUE(direct.ok()) << direct.error().describe();
  ASSERT_EQ(copy("docker-archive:" + folder_.path("d.tar") + ":x:v1"), 0);
  const auto docker = run("docker-archive:" + folder_.path("d.tar"), as("root/d:v1"));
  ASSERT_TRUE(docker.ok()) << docker.error().describe();
  EXPECT_EQ(docker->manifest.layers, direct->manifest.layers);
  ASSERT_EQ(copy("oci-archive:" + folder_.path("o.tar") + ":v1"), 0);
  const auto oci = run("oci-archive:" + folder_.path("o.tar") + ":v1", as("root/o:v1"));
  ASSERT_TRUE(oci.ok()) << oci.error().describe();
  EXPECT_EQ(oci->manifest.layers, direct->manifest.layers);
  EXPECT_EQ(oci->manifest.config, direct->manifest.config);
}

TEST_F(Import, ARegistryOnLoopback) {
  TestRegistry registry(folder_.path("registry"));
  if (!registry.running()) GTEST_SKIP() << registry.why_not();
  TestLayout layout(folder_.path("oci"));
  layout.write_index({TestLayout::named(layout.image(two_layers()), "v1")});
  ASSERT_EQ(registry.push("oci:" + layout.folder() + ":v1", "team/two:v1"), 0);
  std::vector<std::string> stages;
  call_.progress = [&](const nlohmann::json& report) { stages.push_back(step_of(report)); };
  auto request = as("root/two:v1");
  const auto source = "docker://" + registry.address() + "/team/two:v1";
  const auto secure = run(source, request);
  EXPECT_THAT(secure.error().message, HasSubstr("option 'insecure'"));
  request.insecure = true;
  const auto imported = run(source, request);
  ASSERT_TRUE(imported.ok()) << imported.error().describe();
  EXPECT_THAT(stages, ::testing::IsSupersetOf({"fetch", "unpack", "convert", "store"}));
  EXPECT_EQ(imported->manifest.provenance.at("source"), source);
  EXPECT_EQ(run("docker://" + registry.address() + "/team/two:v9", request).error().code, ErrorCode::not_found);
  EXPECT_EQ(run("docker://" + registry.address() + "/nothing:v1", request).error().code, ErrorCode::not_found);
  registry.stop();
  const auto gone = run(source, request);
  EXPECT_EQ(gone.error().code, ErrorCode::unavailable) << gone.error().describe();
  EXPECT_EQ(left_in_work(), 0u);
  expect_all_right(look(imported->manifest, see_two_layers));
}

TEST_F(Import, CancelLeavesNothingNamed) {
  const auto source = folder_.path("src");
  for (int i = 0; i < 50; ++i) write_file(source + "/f" + std::to_string(i), "x");
  for (const auto* stage : {"unpack", "convert", "store"}) {
    call_.cancel = std::make_shared<std::atomic<bool>>(false);
    call_.progress = [&](const nlohmann::json& report) { *call_.cancel = *call_.cancel || step_of(report) == stage; };
    const auto imported = run("dir:" + source, as("root/a:v1"));
    EXPECT_EQ(imported.error().code, ErrorCode::cancelled) << stage;
    EXPECT_TRUE(store_.tags.empty());
    EXPECT_EQ(left_in_work(), 0u);
  }
}

TEST_F(Import, KilledInTheMiddleAndDoneAgain) {
  const auto source = folder_.path("src");
  write_file(source + "/f", std::string(100'000, 'x'));
  const auto once = [&](const std::function<void(const std::string&)>& at) {
    auto work = WorkFolder::open(folder_.path("w2"), random_);
    if (!work) return work.error().message;
    if (std::distance(fs::directory_iterator(folder_.path("w2")), {}) != 1) return std::string("something is left in the work folder");
    Importer importer(store_, spawner_, **work, clock_, guard_, "amd64");
    CallContext call;
    call.progress = [&](const nlohmann::json& report) { at(step_of(report)); };
    auto request = as("root/k:v1");
    request.source = *ImportSource::parse("dir:" + source);
    const auto imported = importer.import(call, request);
    return imported ? std::string() : imported.error().describe();
  };
  for (const auto* stage : {"unpack", "convert", "store"}) {
    const pid_t child = ::fork();
    if (child == 0) {
      once([&](const std::string& now) { if (now == stage) ::kill(::getpid(), SIGKILL); });
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << stage;
    EXPECT_TRUE(store_.tags.empty());
  }
  EXPECT_EQ(once([](const std::string&) {}), "");
  EXPECT_TRUE(store_.tags.contains("root/k:v1"));
}

TEST_F(Import, WhatIsNotThereIsNamed) {
  EXPECT_THAT(run("dir:/no/such", as("root/a:v1")).error().describe(), HasSubstr("/no/such"));
  EXPECT_EQ(run("tar:/no/such", as("root/a:v1")).error().code, ErrorCode::not_found);
  write_file(folder_.path("text"), "this is no tar");
  EXPECT_EQ(run("docker-archive:" + folder_.path("text"), as("root/a:v1")).error().code, ErrorCode::data_loss);
  fs::create_directory(folder_.path("empty"));
  EXPECT_THAT(run("oci:" + folder_.path("empty"), as("root/a:v1")).error().message, HasSubstr("index.json"));
  const auto pinned = as("root/a@sha256:" + std::string(64, 'a'));
  EXPECT_EQ(run("dir:/no/such", pinned).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(left_in_work(), 0u);
}

TEST_F(Import, TheCatalogResolvesStacksAndSweeps) {
  write_file(folder_.path("base/etc/os"), "base");
  write_file(folder_.path("tool/opt/tool"), "tool");
  ASSERT_TRUE(run("dir:" + folder_.path("base"), as("root/base:v1")).ok());
  auto tool = as("root/tool:v1");
  tool.kind = ImageKind::toolkit;
  ASSERT_TRUE(run("dir:" + folder_.path("tool"), tool).ok());
  const auto stack = catalog_.resolve(call_, "root/base:v1", {}, {"root/tool:v1"});
  ASSERT_TRUE(stack.ok()) << stack.error().message;
  ASSERT_EQ(stack->layers.size(), 2u);
  EXPECT_EQ(stack->config["architecture"], "amd64");
  EXPECT_THAT(catalog_.resolve(call_, "root/bose:v1", {}, {}).error().message, HasSubstr("did you mean 'root/base:v1'?"));
  EXPECT_EQ(catalog_.resolve(call_, "root/base:v1", {"root/tool:v1"}, {}).error().code, ErrorCode::invalid_argument);

  const auto before = catalog_.find(call_, "root/base:v1")->digest;
  write_file(folder_.path("base/etc/os"), "newer");
  ASSERT_TRUE(run("dir:" + folder_.path("base"), as("root/base:v1")).ok());
  EXPECT_TRUE(catalog_.find(call_, "root/base@" + before.str()).ok());
  EXPECT_FALSE(catalog_.find(call_, "root/other@" + before.str()).ok());
  std::string next;
  EXPECT_EQ(catalog_.list(call_, "root/", "", 100, next)->size(), 3u);
  EXPECT_EQ(catalog_.sweep(call_, {})->blobs, 0);
  EXPECT_TRUE(catalog_.remove(call_, "root/base@" + before.str()).ok());
  EXPECT_EQ(catalog_.sweep(call_, {})->blobs, 2);
  ASSERT_TRUE(catalog_.tag(call_, "root/base:v1", *ImageReference::parse("root/base:v2")).ok());
  EXPECT_TRUE(catalog_.remove(call_, "root/base:v1").ok());
  EXPECT_EQ(catalog_.sweep(call_, {})->blobs, 0);
  EXPECT_TRUE(catalog_.remove(call_, "root/base:v2").ok());
  EXPECT_TRUE(catalog_.remove(call_, "root/tool:v1").ok());
  EXPECT_TRUE(catalog_.remove(call_, "root/tool:v1").ok());
  EXPECT_EQ(catalog_.sweep(call_, {})->blobs, 4);
  EXPECT_EQ(store_.blobs(), 0u);
}

}  // namespace
}  // namespace harena::image
