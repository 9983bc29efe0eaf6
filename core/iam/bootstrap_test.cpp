#include "core/iam/bootstrap.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include "core/crypto/token_hash.hpp"
#include "core/iam/testing_support.hpp"
#include "core/store/secret_file.hpp"

namespace harena {
namespace {

using Kind = BootstrapOutcome::Kind;

/// Not started yet.
struct BootstrapTest : IamTest {
  void SetUp() override {}
  Result<BootstrapOutcome> start() { return iam.start(call, token_file); }
  /// A new process on the same store and files.
  Result<Principal> after_restart(const std::string& token) {
    IamService again(store, clock, random);
    HARENA_TRY([[maybe_unused]] const auto outcome, again.start(call, token_file));
    return again.authenticate(token);
  }
  int count_files() {
    int count = 0;
    std::filesystem::directory_iterator entry(folder.path);
    for (; entry != std::filesystem::directory_iterator(); ++entry) ++count;
    return count;
  }
  void fail_next_txn() {
    store.before_txn = [this](const std::vector<StateOp>&) -> Status {
      store.before_txn = nullptr;
      return make_error(ErrorCode::unavailable, "killed here");
    };
  }
};

TEST_F(BootstrapTest, TheFirstStartMakesRootAndAToken) {
  const auto outcome = start();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(outcome->kind, Kind::first_start);
  struct stat info {};
  ASSERT_EQ(::stat(token_file.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  const auto principal = iam.authenticate(admin_token()).value();
  EXPECT_EQ(principal.project, ProjectPath::root());
  EXPECT_TRUE(iam.authorize(principal, Permission::sandbox_create, ProjectPath::root()).ok());
  EXPECT_EQ(count_files(), 1);  // no draft is left
}

TEST_F(BootstrapTest, TheSecretIsNotInTheStore) {
  ASSERT_TRUE(start().ok());
  const auto entries = store.range(call, "/", "", 1'000).value();
  for (const auto& entry : entries) {
    EXPECT_EQ(entry.value.find(admin_token().substr(4)), std::string::npos) << entry.key;
  }
}

TEST_F(BootstrapTest, TheSecondStartChangesNothing) {
  ASSERT_TRUE(start().ok());
  const auto token = admin_token();
  const auto revision = store.revision();
  IamService again(store, clock, random);
  EXPECT_EQ(again.start(call, token_file)->kind, Kind::done_before);
  EXPECT_EQ(admin_token(), token);
  EXPECT_EQ(store.revision(), revision);
}

TEST_F(BootstrapTest, KilledBeforeTheFileHasItsName) {
  std::ofstream(token_file.string() + ".new-0011223344556677") << "hrn_half";
  EXPECT_EQ(start()->kind, Kind::first_start);
  EXPECT_TRUE(after_restart(admin_token()).ok());
}

TEST_F(BootstrapTest, KilledBetweenFileAndStore) {
  fail_next_txn();
  ASSERT_FALSE(start().ok());
  const auto token = admin_token();
  ASSERT_TRUE(is_token(token));
  EXPECT_EQ(start()->kind, Kind::mended);
  EXPECT_EQ(admin_token(), token);
  EXPECT_TRUE(iam.authenticate(token).ok());
}

TEST_F(BootstrapTest, KilledAfterTheStoreBeforeItsAnswer) {
  store.after_txn = [&](const std::vector<StateOp>&) -> Status {
    store.after_txn = nullptr;
    return make_error(ErrorCode::unknown, "killed here");
  };
  ASSERT_FALSE(start().ok());
  EXPECT_EQ(start()->kind, Kind::done_before);
  EXPECT_TRUE(iam.authenticate(admin_token()).ok());
}

TEST_F(BootstrapTest, AFileThatTheOperatorTookAwayIsNotMadeAgain) {
  ASSERT_TRUE(start().ok());
  const auto token = admin_token();
  std::filesystem::remove(token_file);
  EXPECT_TRUE(after_restart(token).ok());
  EXPECT_FALSE(std::filesystem::exists(token_file));
}

TEST_F(BootstrapTest, AnAdoptedFileIsNeverReadAgain) {
  ASSERT_TRUE(start().ok());
  std::ofstream(token_file) << "hrn_" << std::string(64, 'b') << "\n";
  EXPECT_EQ(after_restart("hrn_" + std::string(64, 'b')).error().code, ErrorCode::unauthenticated);
}

TEST_F(BootstrapTest, AFileWithoutATokenIsRefusedAndKept) {
  std::ofstream(token_file) << "my notes\n";
  ::chmod(token_file.c_str(), 0600);
  const auto refused = start();
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::failed_precondition);
  EXPECT_NE(refused.error().message.find(token_file.string()), std::string::npos);
  EXPECT_EQ(store.size(), 0u);
}

TEST_F(BootstrapTest, AFileThatOthersMayReadIsRefused) {
  std::ofstream(token_file) << "hrn_" << std::string(64, 'a') << "\n";
  ::chmod(token_file.c_str(), 0644);
  EXPECT_NE(start().error().message.find("chmod 600"), std::string::npos);
}

TEST_F(BootstrapTest, SymbolicLinksPipesAndFoldersAreRefused) {
  std::filesystem::create_symlink("elsewhere", token_file);
  EXPECT_EQ(start().error().code, ErrorCode::failed_precondition);
  std::filesystem::remove(token_file);
  ASSERT_EQ(::mkfifo(token_file.c_str(), 0600), 0);
  EXPECT_EQ(start().error().code, ErrorCode::failed_precondition);
  std::filesystem::remove(token_file);
  std::filesystem::create_directory(token_file);
  EXPECT_EQ(start().error().code, ErrorCode::failed_precondition);
}

TEST_F(BootstrapTest, AMissingFolderIsNamed) {
  token_file = folder.path / "none" / "admin-token";
  const auto refused = start();
  EXPECT_EQ(refused.error().code, ErrorCode::not_found);
  EXPECT_NE(refused.error().message.find("none"), std::string::npos);
}

TEST_F(BootstrapTest, AnExistingFileIsNeverOverwritten) {
  std::ofstream(token_file) << "precious";
  EXPECT_EQ(create_secret_file(token_file, "hrn_x", random).error().code, ErrorCode::already_exists);
  EXPECT_EQ(admin_token(), "precious");
}

}  // namespace
}  // namespace harena
