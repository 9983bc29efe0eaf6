#include "plugins/microvm/image_digests.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>

#include "plugins/microvm/image_sealer.hpp"
#include "plugins/microvm/machine/machine_image.hpp"
#include "sdk/support/files.hpp"

namespace harena::microvm {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t kRamBytes = 3 * kDigestChunkBytes + 4096;
const std::function<bool()> kGoOn = [] { return true; };

class Digests : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "digests-XXXXXX";
    ASSERT_NE(::mkdtemp(root_.data()), nullptr);
    folder_ = root_ + "/image";
    fs::create_directory(folder_);
    const MachineImage image{.ram = "ram.1", .delta = "delta.4", .state = "state.3", .disk = {{"disk.2", false}}, .ram_bytes = kRamBytes};
    for (const auto& name : image.files()) std::ofstream(folder_ + "/" + name) << "this is " << name;
    fs::resize_file(folder_ + "/ram.1", kRamBytes);  // the rest of the first chunk and the others are zeros
    write_at("ram.1", 2 * kDigestChunkBytes + 7, "words");
    ASSERT_TRUE(image.write(folder_).ok());
  }
  void TearDown() override { fs::remove_all(root_); }

  void write_at(const std::string& name, std::int64_t offset, const std::string& text) {
    UniqueFd file(::open((folder_ + "/" + name).c_str(), O_WRONLY | O_CLOEXEC));
    ASSERT_EQ(::pwrite(file.get(), text.data(), text.size(), offset), static_cast<ssize_t>(text.size()));
  }
  /// As bit rot is: nobody is told that the file was written.
  void write_unseen(const std::string& name, std::int64_t offset, const std::string& text) {
    struct stat before{};
    ASSERT_EQ(::stat((folder_ + "/" + name).c_str(), &before), 0);
    write_at(name, offset, text);
    const timespec times[] = {before.st_atim, before.st_mtim};
    ASSERT_EQ(::utimensat(AT_FDCWD, (folder_ + "/" + name).c_str(), times, 0), 0);
  }
  void copy_to(const std::string& name) {
    fs::copy(folder_, root_ + "/" + name, fs::copy_options::recursive);
    folder_ = root_ + "/" + name;
  }
  void expect_lost(Verify what, const std::string& word) {
    const Status found = verify_image(folder_, what);
    ASSERT_FALSE(found.ok()) << word;
    EXPECT_EQ(found.error().code, ErrorCode::data_loss) << found.error().message;
    EXPECT_NE(found.error().message.find(word), std::string::npos) << found.error().message;
  }
  std::string digests() { return *read_file_at(AT_FDCWD, folder_ + "/" + kDigestsFile); }

  std::string root_, folder_;
};

TEST_F(Digests, OfASealedImageAreRight) {
  EXPECT_TRUE(verify_image(folder_, Verify::changed).ok()) << "not sealed yet";
  EXPECT_EQ(verify_image(folder_, Verify::all).error().code, ErrorCode::failed_precondition);
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  for (const auto what : {Verify::changed, Verify::all}) {
    const Status found = verify_image(folder_, what);
    EXPECT_TRUE(found.ok()) << found.error().message;
  }
  EXPECT_EQ(digests().find(root_), std::string::npos) << "no path is in it";
}

TEST_F(Digests, AFlippedBitIsFoundAndNamed) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  write_at("ram.1", 2 * kDigestChunkBytes + 7, "vords");
  expect_lost(Verify::changed, "ram.1 of the machine image isn't what it was: bytes 8388608 to 12582912");
}

TEST_F(Digests, AFlippedBitAmongZerosIsFound) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  write_at("ram.1", kRamBytes - 1, "\x01");
  expect_lost(Verify::changed, "ram.1");
}

TEST_F(Digests, RotThatNoStampTellsIsFoundWhenAllIsRead) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  write_unseen("disk.2", 0, "T");
  EXPECT_TRUE(verify_image(folder_, Verify::changed).ok());
  expect_lost(Verify::all, "disk.2");
}

TEST_F(Digests, ATruncatedFileIsRefusedSealedOrNot) {
  fs::resize_file(folder_ + "/ram.1", kRamBytes - 4096);
  auto image = MachineImage::read(folder_);
  ASSERT_TRUE(image.ok());
  const Status found = image->check_files(folder_);
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().code, ErrorCode::data_loss);
  const std::string sizes = std::to_string(kRamBytes - 4096) + " bytes; it had " + std::to_string(kRamBytes);
  EXPECT_EQ(found.error().message, "ram.1 of the machine image has " + sizes);
  EXPECT_EQ(seal_image(folder_, kGoOn).error().code, ErrorCode::data_loss) << "what is broken isn't declared well";
  fs::resize_file(folder_ + "/ram.1", kRamBytes);
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  fs::resize_file(folder_ + "/state.3", 3);
  expect_lost(Verify::changed, "state.3 of the machine image has 3 bytes");
  fs::remove(folder_ + "/state.3");
  expect_lost(Verify::changed, "lacks its file state.3");
}

TEST_F(Digests, AMovedFolderAndACopyAreWellAndReadOnce) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  const std::string before = digests();
  fs::rename(folder_, root_ + "/moved");
  folder_ = root_ + "/moved";
  EXPECT_TRUE(verify_image(folder_, Verify::changed).ok());
  EXPECT_EQ(digests(), before) << "nothing had to be read";
  copy_to("copy");
  Status found = verify_image(folder_, Verify::changed);
  ASSERT_TRUE(found.ok()) << found.error().message;
  const std::string stamped = digests();
  EXPECT_NE(stamped, before);
  EXPECT_TRUE(verify_image(folder_, Verify::changed).ok());
  EXPECT_EQ(digests(), stamped);
  copy_to("again");
  write_at("delta.4", 2, "#");
  expect_lost(Verify::changed, "delta.4");
}

TEST_F(Digests, ManifestAndDigestsAreUnderTheDigestsToo) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  const std::string manifest = *read_file_at(AT_FDCWD, folder_ + "/" + kManifestFile);
  const auto cpus = manifest.find("\"cpus\": 1");
  ASSERT_NE(cpus, std::string::npos);
  write_at(kManifestFile, static_cast<std::int64_t>(cpus) + 8, "2");
  expect_lost(Verify::changed, "manifest.json of the machine image isn't what it was");
  write_at(kManifestFile, static_cast<std::int64_t>(cpus) + 8, "1");
  ASSERT_TRUE(verify_image(folder_, Verify::changed).ok());
  const std::string text = digests();
  for (const std::string word : {"\"chunks\":[\"", "\"harena_image_digests\":", "\"bytes\":"}) {
    auto wrong = text;
    char& letter = wrong[text.find(word) + word.size()];
    letter = letter == '7' ? '8' : '7';
    ASSERT_TRUE(create_file_at(AT_FDCWD, folder_ + "/" + kDigestsFile, wrong, 0600).ok());
    const Status found = verify_image(folder_, Verify::changed);
    ASSERT_FALSE(found.ok()) << word;
    const bool version = word.find("harena") != std::string::npos;
    EXPECT_EQ(found.error().code, version ? ErrorCode::failed_precondition : ErrorCode::data_loss) << found.error().message;
  }
  for (const std::string broken : {"[]", "{", "{\"harena_image_digests\":1}"}) {
    ASSERT_TRUE(create_file_at(AT_FDCWD, folder_ + "/" + kDigestsFile, broken, 0600).ok());
    expect_lost(Verify::changed, "the digests of a machine image can't be read");
  }
}

TEST_F(Digests, AnEmptyFileIsNone) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  EXPECT_TRUE(is_sealed(folder_));
  fs::resize_file(folder_ + "/" + kDigestsFile, 0);
  EXPECT_FALSE(is_sealed(folder_));
  EXPECT_TRUE(verify_image(folder_, Verify::changed).ok());
  EXPECT_EQ(verify_image(folder_, Verify::all).error().code, ErrorCode::failed_precondition);
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  EXPECT_TRUE(verify_image(folder_, Verify::all).ok());
}

TEST_F(Digests, ManyMayStampACopyAtOnce) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  for (int round = 0; round < 20; ++round) {
    copy_to("copy" + std::to_string(round));
    std::vector<std::future<Status>> all;
    for (int i = 0; i < 4; ++i) all.push_back(std::async(std::launch::async, [&] { return verify_image(folder_, Verify::changed); }));
    for (auto& one : all) {
      const Status found = one.get();
      ASSERT_TRUE(found.ok()) << found.error().message;
    }
    ASSERT_TRUE(verify_image(folder_, Verify::all).ok());
    for (const auto& entry : fs::directory_iterator(folder_)) EXPECT_EQ(entry.path().string().find(".new"), std::string::npos);
  }
}

TEST_F(Digests, AreCalledOffBetweenChunks) {
  int asked = 0;
  const Status sealed = seal_image(folder_, [&] { return ++asked < 3; });
  ASSERT_FALSE(sealed.ok());
  EXPECT_EQ(sealed.error().code, ErrorCode::cancelled);
  EXPECT_FALSE(fs::exists(folder_ + "/" + kDigestsFile));
}

TEST_F(Digests, TheSealerTellsOfWhatIsBrokenAndNotOfWhatIsGone) {
  std::promise<std::string> told;
  ImageSealer sealer([&](const std::string& problem) { told.set_value(problem); });
  sealer.add(root_ + "/gone");
  sealer.add(folder_);
  const std::string broken = root_ + "/broken";
  fs::copy(folder_, broken);
  fs::resize_file(broken + "/disk.2", 0);
  sealer.add(broken);
  auto problem = told.get_future();
  ASSERT_EQ(problem.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_NE(problem.get().find("disk.2"), std::string::npos);
  EXPECT_TRUE(verify_image(folder_, Verify::all).ok()) << "they come one after the other";
}

TEST_F(Digests, TheSealerDoesntSayAnewWhatAnImageIs) {
  ASSERT_TRUE(seal_image(folder_, kGoOn).ok());
  const std::string before = digests();
  write_at("ram.1", 2 * kDigestChunkBytes + 7, "vords");
  std::promise<std::string> told;
  ImageSealer sealer([&](const std::string& problem) { told.set_value(problem); });
  sealer.add(folder_);
  const std::string broken = root_ + "/broken";
  fs::copy(folder_, broken);
  fs::resize_file(broken + "/disk.2", 0);
  fs::remove(broken + "/" + kDigestsFile);
  sealer.add(broken);  // after the first
  ASSERT_EQ(told.get_future().wait_for(std::chrono::seconds(60)), std::future_status::ready);
  EXPECT_EQ(digests(), before);
  expect_lost(Verify::changed, "ram.1");
}

}  // namespace
}  // namespace harena::microvm
