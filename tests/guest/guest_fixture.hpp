#pragma once
// One machine for all tests of a suite, and a session client to it.

#include <gtest/gtest.h>

#include "tests/guest/machine.hpp"
#include "tests/integration/session/shim_fixture.hpp"

namespace harena::guest_test {

using namespace session;

class GuestTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (auto missing = what_is_missing(); !missing.empty()) {
      std::printf("skipped: %s\n", missing.c_str());
      std::exit(77);
    }
    machine = std::make_unique<Machine>();
    auto answer = machine->configure(Machine::plain_request());
    ASSERT_TRUE(answer.ok()) << answer.error().describe() << "\n" << machine->console();
    configured = *answer;
  }
  static void TearDownTestSuite() { machine.reset(); }
  void SetUp() override { ASSERT_TRUE(machine) << "no machine"; }
  void TearDown() override {
    EXPECT_EQ(machine->broken(), "");
    if (HasFailure()) std::printf("console:\n%s\n", machine->console().c_str());
  }

  template <class T>
  T await(Task<T> task) {
    std::optional<T> out;
    io.restart();
    boost::asio::co_spawn(io, http::detail::store_result(std::move(task), out), [&](std::exception_ptr failure) {
      if (failure) std::rethrow_exception(failure);
    });
    while (!out) io.run_one();
    return std::move(*out);
  }
  RunResult must_run(StartRequest request) {
    auto result = await(run(client, std::move(request)));
    EXPECT_TRUE(result) << (result ? "" : result.error().describe());
    return result ? *std::move(result) : RunResult{};
  }
  /// stdout of a shell text that has to succeed.
  std::string out_of(const std::string& text) {
    auto result = must_run(shell(text));
    EXPECT_EQ(result.exit.code, 0) << text << "\n" << result.err;
    return result.out;
  }

  inline static std::unique_ptr<Machine> machine;
  inline static ConfigureAnswer configured;
  boost::asio::io_context io{1};
  std::shared_ptr<Endpoint> endpoint = Endpoint::over_unix(machine ? machine->session_socket() : "");
  SessionClient client{endpoint};
};

}  // namespace harena::guest_test
