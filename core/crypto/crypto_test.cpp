#include <gtest/gtest.h>

#include "core/crypto/hmac.hpp"
#include "core/crypto/token_hash.hpp"

namespace harena {
namespace {

TEST(Hmac, KnownAnswersOfRfc4231) {
  EXPECT_EQ(hmac_sha256_hex("Jefe", "what do ya want for nothing?").value(),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac_sha256_hex(std::string(20, '\x0b'), "Hi There").value(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac_sha256_hex("", "").value(), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(ConstantTimeEqual, ComparesAllBytesAndLengths) {
  EXPECT_TRUE(constant_time_equal("", ""));
  EXPECT_TRUE(constant_time_equal("abc", "abc"));
  EXPECT_FALSE(constant_time_equal("abc", "abd"));
  EXPECT_FALSE(constant_time_equal("abc", "ab"));
}

TEST(Token, MintedOnesAreRecognised) {
  SeededRandom random(1);
  const auto token = mint_token(random);
  EXPECT_EQ(token.size(), 68u);
  EXPECT_TRUE(token.starts_with("hrn_"));
  EXPECT_TRUE(is_token(token));
  EXPECT_TRUE(is_token(mint_token(random, kE2bTokenPrefix)));
  EXPECT_NE(mint_token(random), mint_token(random));
}

TEST(Token, OtherTextsAreNot) {
  const std::string digits(64, 'a');
  EXPECT_TRUE(is_token("hrn_" + digits));
  for (const std::string& bad : {std::string(), std::string("hrn_"), "hrn_" + digits + "a", "hrn_" + std::string(64, 'A'),
                                 "xyz_" + digits, digits, "hrn_" + std::string(63, 'a') + "g"}) {
    EXPECT_FALSE(is_token(bad)) << bad;
  }
}

TEST(Token, TheHashIsOfTheWholeText) {
  const std::string digits(64, 'a');
  EXPECT_EQ(token_hash("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_NE(token_hash("hrn_" + digits), token_hash("e2b_" + digits));
}

}  // namespace
}  // namespace harena
