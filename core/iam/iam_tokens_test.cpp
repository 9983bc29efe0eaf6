#include "core/crypto/token_hash.hpp"
#include "core/iam/permission.hpp"
#include "core/iam/testing_support.hpp"

namespace harena {
namespace {

using P = Permission;

TEST_F(IamTest, AMintedTokenWorksAndSurvivesARestart) {
  make_project("root/a");
  const auto minted = iam.create_token(call, admin(), {path_of("root/a"), {P::sandbox_use}, "worker"}).value();
  IamService again(store, clock, random);
  ASSERT_TRUE(again.start(call, token_file).ok());
  const auto principal = again.authenticate(minted.secret).value();
  EXPECT_EQ(principal.id, "token:" + minted.record.id);
  EXPECT_EQ(principal.name, "worker");
  EXPECT_EQ(principal.project, path_of("root/a"));
  EXPECT_EQ(principal.permissions, std::vector{P::sandbox_use});
}

TEST_F(IamTest, TheE2bFormWorksToo) {
  TokenRequest request{ProjectPath::root(), {P::sandbox_use}, "e2b"};
  request.e2b_form = true;
  const auto minted = iam.create_token(call, admin(), request).value();
  EXPECT_TRUE(minted.secret.starts_with("e2b_"));
  EXPECT_TRUE(iam.authenticate(minted.secret).ok());
  EXPECT_FALSE(iam.authenticate("hrn_" + minted.secret.substr(4)).ok());
}

TEST_F(IamTest, NobodyGrantsWhatHeHasNot) {
  const auto maker = with("root", {P::token_write, P::sandbox_read});
  EXPECT_TRUE(iam.create_token(call, maker, {ProjectPath::root(), {P::sandbox_read}, ""}).ok());
  for (const P more : {P::sandbox_create, P::admin}) {
    const auto refused = iam.create_token(call, maker, {ProjectPath::root(), {P::sandbox_read, more}, ""});
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, ErrorCode::permission_denied);
    EXPECT_NE(refused.error().message.find(std::string(to_string(more))), std::string::npos);
  }
}

TEST_F(IamTest, NobodyGrantsOutsideHisProject) {
  make_project("root/a");
  make_project("root/a/b");
  const auto maker = with("root/a", {P::admin});
  EXPECT_TRUE(iam.create_token(call, maker, {path_of("root/a/b"), {P::admin}, ""}).ok());
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::sandbox_read}, ""}).error().code,
            ErrorCode::permission_denied);
}

TEST_F(IamTest, WithoutTokenWriteThereIsNoGranting) {
  const auto maker = with("root", {P::sandbox_read});
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::sandbox_read}, ""}).error().code,
            ErrorCode::permission_denied);
}

TEST_F(IamTest, ATokenDoesNotOutliveItsMaker) {
  const auto now = clock.wall_ms();
  const auto maker = with("root", {P::token_write}, now + 1'000);
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::token_write}, "", now + 1'001}).error().code,
            ErrorCode::invalid_argument);
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::token_write}, ""}).value().record.expires_ms,
            now + 1'000);
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::token_write}, "", now + 5}).value().record.expires_ms,
            now + 5);
}

TEST_F(IamTest, BadRequestsAreRefused) {
  const auto maker = admin();
  const auto code = [&](TokenRequest request) { return iam.create_token(call, maker, request).error().code; };
  EXPECT_EQ(code({ProjectPath::root(), {}, "none"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({ProjectPath::root(), {P::admin}, "past", clock.wall_ms()}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({ProjectPath::root(), {P::admin}, "negative", -1}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({ProjectPath::root(), {P::admin}, std::string(129, 'n')}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({ProjectPath::root(), {P::admin}, "\xff"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({path_of("root/none"), {P::admin}, ""}), ErrorCode::not_found);
}

TEST_F(IamTest, ARevokedTokenIsUnknownAtOnceAndMakesNoOther) {
  const auto maker = with("root", {P::token_write});
  ASSERT_TRUE(iam.revoke_token(call, admin(), maker.id.substr(6)).ok());
  EXPECT_EQ(iam.revoke_token(call, admin(), maker.id.substr(6)).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::token_write}, ""}).error().code,
            ErrorCode::unauthenticated);
}

TEST_F(IamTest, TokensOfOthersCanNeitherBeSeenNorRevoked) {
  make_project("root/a");
  make_project("root/b");
  const auto a = with("root/a", {P::token_write});
  const auto b = with("root/b", {P::token_write});
  EXPECT_EQ(iam.revoke_token(call, a, b.id.substr(6)).error().code, ErrorCode::not_found);
  EXPECT_EQ(iam.list_tokens(a, path_of("root/a"), "", 10).value().size(), 1u);
  EXPECT_FALSE(iam.list_tokens(a, path_of("root/b"), "", 10).ok());
}

TEST_F(IamTest, TokensAreListedByIdInPages) {
  for (int i = 0; i < 5; ++i) with("root", {P::node_read});
  std::vector<std::string> seen;
  std::string cursor;
  while (true) {
    const auto page = iam.list_tokens(admin(), ProjectPath::root(), cursor, 4).value();
    for (const auto& record : page) seen.push_back(record.id);
    if (page.size() < 4) break;
    cursor = page.back().id;
  }
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(iam.list_tokens(admin(), ProjectPath::root(), "", 0).error().code, ErrorCode::invalid_argument);
}

TEST_F(IamTest, ThePublicFormHasNoHash) {
  const auto minted = iam.create_token(call, admin(), {ProjectPath::root(), {P::admin}, "x"}).value();
  EXPECT_EQ(to_public_json(minted.record).dump().find(minted.record.secret_hash), std::string::npos);
  EXPECT_EQ(minted.record.secret_hash, token_hash(minted.secret));
}

TEST_F(IamTest, AFailingStoreLeavesTheTokenUnknown) {
  const auto maker = admin();
  store.before_txn = [](const std::vector<StateOp>&) -> Status {
    return make_error(ErrorCode::resource_exhausted, "the disk is full");
  };
  EXPECT_EQ(iam.create_token(call, maker, {ProjectPath::root(), {P::admin}, "x"}).error().code,
            ErrorCode::resource_exhausted);
  EXPECT_EQ(iam.list_tokens(maker, ProjectPath::root(), "", 10).value().size(), 1u);
}

}  // namespace
}  // namespace harena
