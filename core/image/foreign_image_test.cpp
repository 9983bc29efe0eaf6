#include "core/image/foreign_image.hpp"

#include <gmock/gmock.h>

#include "core/image/test_oci.hpp"

namespace harena::image {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Oci : public ::testing::Test {
 protected:
  Result<ForeignImage> read(const std::string& tag = "", const std::string& architecture = "amd64") {
    auto files = FolderFiles::open_folder(layout_.folder());
    return read_oci_layout(**files, tag, architecture);
  }
  TestFolder folder_;
  TestLayout layout_{folder_.path("oci")};
};

TEST_F(Oci, ReadsConfigAndLayers) {
  layout_.write_index({layout_.image({"one", "two"})});
  const auto image = read();
  ASSERT_TRUE(image.ok()) << image.error().message;
  EXPECT_EQ(image->config.env.at("A"), "b=c");
  EXPECT_EQ(image->config.cmd, std::vector<std::string>{"sh"});
  EXPECT_EQ(image->config.workdir, "/w");
  EXPECT_EQ(image->config.user, "1:2");
  EXPECT_EQ(image->config.labels.at("k"), "v");
  EXPECT_EQ(image->created, "2024-05-06T07:08:09Z");
  ASSERT_EQ(image->layers.size(), 2u);
  EXPECT_EQ(image->layers[1].diff_id, Digest::of("two").str());
}

TEST_F(Oci, ChoosesThePlatformAndTheTag) {
  const auto both = layout_.index_of({TestLayout::on(layout_.image({"arm"}, "arm64"), "arm64"), TestLayout::on(layout_.image({"amd"}), "amd64")});
  layout_.write_index({TestLayout::named(both, "v1"), TestLayout::named(layout_.image({"old"}), "v0")});
  EXPECT_EQ(read("v1")->layers[0].diff_id, Digest::of("amd").str());
  EXPECT_EQ(read("v1", "arm64")->layers[0].diff_id, Digest::of("arm").str());
  EXPECT_EQ(read("v0")->layers[0].diff_id, Digest::of("old").str());
  EXPECT_THAT(read("v1", "riscv64").error().message, HasSubstr("isn't there for linux/riscv64; there is linux/arm64, linux/amd64"));
  EXPECT_THAT(read("v2").error().message, HasSubstr("no image 'v2'; there is v1, v0"));
  EXPECT_THAT(read().error().message, HasSubstr("several images; name one of: v1, v0"));
}

TEST_F(Oci, RefusesWhatIsNoImageForThisMachine) {
  layout_.write_index({layout_.image({"x"}, "s390x")});
  EXPECT_THAT(read().error().message, HasSubstr("is for linux/s390x; this machine is linux/amd64"));
  json chart = {{"config", layout_.blob("{}", "application/vnd.cncf.helm.config.v1+json")}, {"layers", json::array()}};
  layout_.write_index({layout_.blob(chart.dump(), "application/vnd.oci.image.manifest.v1+json")});
  EXPECT_EQ(read().error().code, ErrorCode::unimplemented);
  EXPECT_THAT(read().error().message, HasSubstr("helm"));
  layout_.write_index(json::array());
  EXPECT_THAT(read().error().message, HasSubstr("is empty"));
}

TEST_F(Oci, DocumentsAreComparedWithTheirDigests) {
  const auto image = layout_.image({"x"});
  layout_.write_index({image});
  const auto file = layout_.folder() + "/blobs/sha256/" + image["digest"].get<std::string>().substr(7);
  write_file(file, read_file(file) + " ");
  EXPECT_EQ(read().error().code, ErrorCode::data_loss);
  std::filesystem::remove(file);
  EXPECT_EQ(read().error().code, ErrorCode::not_found);
}

TEST_F(Oci, LinksAndPathsInALayoutAreRefused) {
  std::filesystem::create_symlink("/etc/hostname", layout_.folder() + "/index.json");
  EXPECT_FALSE(read().ok());
  std::filesystem::remove(layout_.folder() + "/index.json");
  layout_.write_index({{{"mediaType", "x"}, {"digest", "sha256:../../../../etc/passwd"}, {"size", 1}}});
  EXPECT_EQ(read().error().code, ErrorCode::invalid_argument);
}

TEST_F(Oci, AnIndexInsideItselfEnds) {
  json descriptor = layout_.image({"x"});
  for (int i = 0; i < 6; ++i) descriptor = layout_.index_of({TestLayout::on(descriptor, "amd64")});
  layout_.write_index({descriptor});
  EXPECT_THAT(read().error().message, HasSubstr("nested deeper"));
}

TEST_F(Oci, SurvivesDocumentsOfTheWrongShape) {
  for (const auto* text : {"", "[]", "7", "{\"manifests\":7}", "{\"manifests\":[7]}", "{\"manifests\":[{\"digest\":7}]}", "{\"manifests\":[[[]]]}"}) {
    write_file(layout_.folder() + "/index.json", text);
    EXPECT_FALSE(read().ok()) << text;
  }
  write_file(layout_.folder() + "/index.json", std::string(200'000, '['));
  EXPECT_FALSE(read().ok());
}

}  // namespace
}  // namespace harena::image
