// container_run COMMAND...: one command in a fresh sandbox of $HARENA_TEST_IMAGE (an EROFS file) or the test image; for trying
// what programs make of the isolation.

#include <cstdio>

#include "plugins/container/tests/fixture.hpp"

int main(int argc, char** argv) {
  using namespace harena::container::testing;
  const std::string why = Backend::why_not();
  if (!why.empty()) return std::puts(why.c_str()), 77;
  Backend backend;
  const std::string id = new_id();
  auto made = backend.create(id, {{"memory", "4GiB"}, {"cpu", 2}, {"pids", 4096}});
  if (made.status != HARENA_OK) return std::puts(made.message.c_str()), 1;
  auto result = backend.run(id, std::vector<std::string>(argv + 1, argv + argc));
  std::fputs(result.output.c_str(), stdout);
  backend.stop(id);
  return result.exit;
}
