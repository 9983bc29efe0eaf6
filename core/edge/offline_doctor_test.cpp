#include "core/edge/offline_doctor.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/socket.h>

#include <filesystem>
#include <set>

#include "sdk/base/unique_fd.hpp"

namespace harena {
namespace {

/// A socket that listens on a free port of loopback.
struct Listener {
  UniqueFd socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::uint16_t port = 0;
  Listener() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket.get(), 1), 0);
    EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
  }
};

struct Folder {
  Folder() {
    char pattern[] = "/tmp/harena-offline-XXXXXX";
    path = ::mkdtemp(pattern);
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(OfflineDoctor, PortThatSomebodyHas) {
  std::uint16_t port = 0;
  {
    Listener other;
    port = other.port;
    const auto found = port_finding("port.api", "api.listen", {"127.0.0.1", port});
    EXPECT_EQ(found["level"], "error");
    EXPECT_NE(found["what"].get<std::string>().find(std::to_string(port)), std::string::npos);
    EXPECT_NE(found["fix"].get<std::string>().find("api.listen"), std::string::npos);
  }
  EXPECT_EQ(port_finding("port.api", "api.listen", {"127.0.0.1", port})["level"], "ok");
  EXPECT_EQ(port_finding("port.api", "api.listen", {"127.0.0.1", 0})["level"], "ok");
}

TEST(OfflineDoctor, AddressOfAnotherMachine) {
  const auto found = port_finding("port.api", "api.listen", {"192.0.2.1", 7300});
  EXPECT_EQ(found["level"], "error");
  EXPECT_NE(found["fix"].get<std::string>().find("address of this machine"), std::string::npos);
}

TEST(OfflineDoctor, StateFolderInUse) {
  Folder folder;
  EXPECT_EQ(lock_finding(folder.path)["level"], "ok");
  EXPECT_FALSE(std::filesystem::exists(folder.path + "/harenad.lock")) << "it makes nothing";
  const UniqueFd other(::open((folder.path + "/harenad.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::flock(other.get(), LOCK_EX), 0);
  EXPECT_EQ(lock_finding(folder.path)["level"], "error");
}

TEST(OfflineDoctor, MissingPluginsAndFoldersAreFindings) {
  Folder folder;
  Config config;
  config.api.port = config.health.port = 0;
  config.state_dir = folder.path + "/not/there/yet";
  config.plugin_dirs = {folder.path};
  const auto findings = offline_findings(config);
  std::set<std::string> errors;
  for (const auto& one : findings) {
    EXPECT_EQ(one["level"] == "ok", one["fix"].get<std::string>().empty()) << one;
    if (one["level"] == "error") errors.insert(one["id"]);
  }
  EXPECT_TRUE(errors.contains("plugin.container") && errors.contains("plugin.statestore-sqlite")) << findings;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path)) << "it makes nothing";
}

}  // namespace
}  // namespace harena
