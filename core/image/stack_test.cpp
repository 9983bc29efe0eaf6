#include "core/image/stack.hpp"

#include <gmock/gmock.h>

namespace harena::image {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StackImage image(ImageKind kind, std::initializer_list<const char*> layers, const std::string& name = "root/x:v1") {
  StackImage made{name, {}};
  made.manifest.kind = kind;
  made.manifest.config.architecture = "amd64";
  for (const auto* layer : layers) made.manifest.layers.push_back({Digest::of(layer), 4096});
  return made;
}
StackImage base(std::initializer_list<const char*> layers) { return image(ImageKind::base, layers, "root/base:v1"); }
StackImage workspace(std::initializer_list<const char*> layers) { return image(ImageKind::workspace, layers); }
StackImage toolkit(std::initializer_list<const char*> layers) { return image(ImageKind::toolkit, layers); }

/// Layer digests back to the letters they were made of.
std::vector<std::string> letters(const Stack& stack) {
  std::vector<std::string> out;
  for (const auto& layer : stack.layers) {
    for (char c = 'a'; c <= 'z'; ++c) {
      if (Digest::of(std::string(1, c)) == layer.digest) out.emplace_back(1, c);
    }
  }
  return out;
}

std::vector<std::string> stacked(const StackImage& base, std::vector<StackImage> workspaces,
                                 std::vector<StackImage> toolkits = {}) {
  const auto stack = make_stack(base, workspaces, toolkits);
  return stack ? letters(*stack) : std::vector<std::string>{stack.error().message};
}

TEST(Stack, LaysBaseThenWorkspacesThenToolkits) {
  EXPECT_THAT(stacked(base({"a", "b"}), {workspace({"c"}), workspace({"d"})}, {toolkit({"e"})}),
              ElementsAre("a", "b", "c", "d", "e"));
}

TEST(Stack, FoundationOfAnImageIsNotLaidAgain) {
  EXPECT_THAT(stacked(base({"a", "b"}), {}, {toolkit({"a", "t"})}), ElementsAre("a", "b", "t"));
  EXPECT_THAT(stacked(base({"a", "b"}), {workspace({"a", "b", "w"})}), ElementsAre("a", "b", "w"));
  EXPECT_THAT(stacked(base({"a"}), {workspace({"a"})}), ElementsAre("a"));
}

TEST(Stack, OfOtherRepeatedLayersTheHighestStays) {
  EXPECT_THAT(stacked(base({"a", "b"}), {workspace({"c", "a"})}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(stacked(base({"a"}), {workspace({"c"})}, {toolkit({"d", "c"})}), ElementsAre("a", "d", "c"));
}

TEST(Stack, ConfigIsTheBasesUnlessDeclared) {
  auto below = base({"a"});
  below.manifest.config.env = {{"PATH", "/bin"}, {"HOME", "/root"}};
  below.manifest.config.user = "1000";
  auto silent = workspace({"b"});
  silent.manifest.config.env = {{"PATH", "/evil"}};
  silent.manifest.config.user = "0";
  auto loud = toolkit({"c"});
  loud.manifest.config.env = {{"PATH", "/tools:/bin"}};
  loud.manifest.config.workdir = "/tools";
  loud.manifest.overrides = {"env"};
  const auto stack = make_stack(below, std::span(&silent, 1), std::span(&loud, 1));
  ASSERT_TRUE(stack.ok());
  EXPECT_EQ(stack->config.env.at("PATH"), "/tools:/bin");
  EXPECT_EQ(stack->config.env.at("HOME"), "/root");
  EXPECT_EQ(stack->config.user, "1000");
  EXPECT_EQ(stack->config.workdir, "");
}

TEST(Stack, RefusesAKindInTheWrongPlace) {
  const auto tool = toolkit({"t"});
  const auto wrong = make_stack(base({"a"}), std::span(&tool, 1), {});
  EXPECT_EQ(wrong.error().code, ErrorCode::invalid_argument);
  EXPECT_THAT(wrong.error().message, HasSubstr("'root/x:v1' is a toolkit and can't stand as a workspace"));
  EXPECT_FALSE(make_stack(tool, {}, {}).ok());
}

TEST(Stack, RefusesMixedArchitectures) {
  auto other = workspace({"w"});
  other.manifest.config.architecture = "arm64";
  EXPECT_THAT(make_stack(base({"a"}), std::span(&other, 1), {}).error().message, HasSubstr("is for arm64"));
}

TEST(Stack, DepthIsBounded) {
  std::vector<StackImage> many;
  for (std::size_t i = 0; i < kMaxLayers; ++i) {
    many.push_back(workspace({}));
    many.back().manifest.layers = {{Digest::of(std::to_string(i)), 1}};
  }
  const auto deep = make_stack(base({"a"}), many, {});
  EXPECT_EQ(deep.error().code, ErrorCode::resource_exhausted);
  EXPECT_THAT(deep.error().message, HasSubstr("129 layers; at most 128"));
  EXPECT_TRUE(make_stack(base({"a"}), std::span(many).first(kMaxLayers - 1), {}).ok());
}

}  // namespace
}  // namespace harena::image
