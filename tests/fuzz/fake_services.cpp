#include "tests/fuzz/fake_services.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <thread>

#include "core/api/routes.hpp"
#include "core/store/testing/memory_state_store.hpp"
#include "sdk/base/unique_fd.hpp"
#include "sdk/http/server.hpp"
#include "sdk/session/hello.hpp"
#include "tests/fuzz/target.hpp"

namespace harena::fuzz {
namespace {

Error nothing_here() { return make_error(ErrorCode::unavailable, "there is nothing behind this API"); }

Sandbox running_sandbox(const SandboxId& id) {
  Sandbox sandbox{.id = id, .spec = *parse_create_spec("fake", nlohmann::json::object())};
  sandbox.state = SandboxState::running;
  return sandbox;
}

class FakeUse final : public SandboxUse {
 public:
  FakeUse(Sandbox sandbox, std::string endpoint) : sandbox_(std::move(sandbox)), endpoint_(std::move(endpoint)) {}
  const Sandbox& sandbox() const override { return sandbox_; }
  const std::string& endpoint() const override { return endpoint_; }

 private:
  Sandbox sandbox_;
  std::string endpoint_;
};

class FakeEdge final : public Edge {
 public:
  explicit FakeEdge(std::string endpoint) : endpoint_(std::move(endpoint)) {}
  http::Task<std::vector<BackendListing>> backends() override { co_return std::vector<BackendListing>(); }
  http::Task<Result<Sandbox>> create(CallContext, CreateSpec) override { co_return nothing_here(); }
  http::Task<Result<Sandbox>> get(const SandboxId& id) override { co_return running_sandbox(id); }
  http::Task<Result<SandboxPage>> list(SandboxFilter, std::string, std::int64_t) override { co_return SandboxPage(); }
  http::Task<Result<Sandbox>> update(CallContext, const SandboxId& id, SandboxUpdate) override { co_return running_sandbox(id); }
  http::Task<Result<Sandbox>> pause(CallContext, const SandboxId& id) override { co_return running_sandbox(id); }
  http::Task<Result<Sandbox>> resume(CallContext, const SandboxId& id) override { co_return running_sandbox(id); }
  http::Task<Result<Sandbox>> stop(CallContext, const SandboxId& id, std::int64_t) override { co_return running_sandbox(id); }
  http::Task<Result<ForkOutcome>> fork(CallContext, const SandboxId&, ForkSpec) override { co_return nothing_here(); }
  http::Task<Result<Snapshot>> snapshot(CallContext, const SandboxId&, SnapshotSpec) override { co_return nothing_here(); }
  http::Task<Result<Sandbox>> rollback(CallContext, const SandboxId&, const SandboxId&) override { co_return nothing_here(); }
  http::Task<Result<Snapshot>> get_snapshot(const SandboxId&) override { co_return nothing_here(); }
  http::Task<Result<SnapshotListing>> list_snapshots(SnapshotFilter, std::string, std::int64_t) override { co_return nothing_here(); }
  http::Task<Status> delete_snapshot(CallContext, const SandboxId&) override { co_return nothing_here(); }
  http::Task<Result<nlohmann::json>> usage(const SandboxId&) override { co_return nlohmann::json::object(); }
  http::Task<Result<std::unique_ptr<SandboxUse>>> use(CallContext, const SandboxId& id) override {
    std::unique_ptr<SandboxUse> use = std::make_unique<FakeUse>(running_sandbox(id), endpoint_);
    co_return use;
  }

 private:
  std::string endpoint_;
};

class NoImageStore final : public ImageStore {
 public:
  Result<StoredBlob> put(const CallContext&, const std::string&, int) override { return nothing_here(); }
  Result<OpenedBlob> open(const CallContext&, const std::string&) override { return nothing_here(); }
  Result<std::vector<TagEntry>> list(const CallContext&, const std::string&, const std::string&, std::int64_t) override {
    return std::vector<TagEntry>();
  }
  Result<std::string> resolve(const CallContext&, const std::string&) override { return nothing_here(); }
  Status tag(const CallContext&, const std::string&, const std::string&) override { return nothing_here(); }
  Status remove(const CallContext&, const std::string&) override { return nothing_here(); }
  Result<std::vector<StoredBlob>> list_blobs(const CallContext&, const std::string&, std::int64_t) override {
    return std::vector<StoredBlob>();
  }
  Result<std::vector<std::string>> check(const CallContext&, const std::string&) override { return std::vector<std::string>(); }
};

class NoPrograms final : public image::ProcessSpawner {
 public:
  Result<image::ProcessOutcome> run(const std::vector<std::string>&, const std::vector<std::string>&,
                                    const image::Checkpoint&) override {
    return nothing_here();
  }
};

/// Any token is good; what it may do is bounded.
class AnyToken final : public Authenticator {
 public:
  Result<Principal> authenticate(std::string_view) override {
    return Principal{.id = "token:fuzz", .name = "fuzz", .project = ProjectPath::root(),
                     .permissions = {Permission::sandbox_create, Permission::sandbox_read, Permission::sandbox_use,
                                     Permission::sandbox_stop, Permission::image_read, Permission::project_read,
                                     Permission::node_read}};
  }
  Status authorize(const Principal&, Permission, const ProjectPath&) override { return ok_status(); }
};

/// A session endpoint that greets and then refuses every request.
class RefusingEndpoint {
 public:
  explicit RefusingEndpoint(const std::string& path) : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof address.sun_path - 1);
    expect(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "the endpoint can be bound");
    expect(::listen(listener_.get(), 64) == 0, "the endpoint can listen");
    thread_ = std::jthread([this] { accept(); });
  }
  ~RefusingEndpoint() { ::shutdown(listener_.get(), SHUT_RDWR); }

 private:
  void accept() {
    for (;;) {
      UniqueFd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) return;
      // A thread each, which ends when the API drops the connection: kept ones must not keep others waiting.
      std::thread([peer = std::move(peer)] { serve(peer.get()); }).detach();
    }
  }
  static void serve(int peer) {
    std::string answer;
    session::append_message(answer, session::FrameType::hello_ok, encode(session::HelloOk{.version = session::kProtocolVersion}));
    session::append_message(answer, session::FrameType::error, session::encode_error(nothing_here()));
    (void)::send(peer, answer.data(), answer.size(), MSG_NOSIGNAL);
    (void)::shutdown(peer, SHUT_WR);
    for (char block[4096]; ::recv(peer, block, sizeof block, 0) > 0;) continue;
  }

  UniqueFd listener_;
  std::jthread thread_;
};

std::string temporary_folder() {
  std::string name = "/tmp/harena-fuzz-XXXXXX";
  expect(::mkdtemp(name.data()) != nullptr, "a folder can be made");
  return name;
}

}  // namespace

struct FakeServices::World {
  World() {
    fleet.add("edge1", edge);
    expect(iam.start({}, folder + "/admin.token").ok(), "iam starts");
    routes.add_to(gate);
    expect(gate.status().ok(), "the routes can be added");
    http::ServerOptions options;
    options.unix_sockets = {{folder + "/api.sock"}};
    options.half_close_grace = std::chrono::milliseconds(2);
    server = std::move(*http::Server::start(io, options, router.handler()));
  }
  ~World() {
    server.reset();
    std::filesystem::remove_all(folder);
  }

  std::string folder = temporary_folder();
  SystemClock clock;
  SeededRandom random{5};
  MemoryStateStore store;
  IamService iam{store, clock, random};
  AnyToken authenticator;
  RefusingEndpoint endpoint{folder + "/session.sock"};
  FakeEdge edge{folder + "/session.sock"};
  Fleet fleet{[] { return std::vector<NodeView>{{.name = "edge1", .healthy = true, .capacity = {10, 8'000, 1 << 30}, .backends = {"fake"}}}; },
              Fleet::TableKind::live, clock, random};
  NoImageStore images;
  image::StoreGuard guard;
  image::Catalog catalog{images, guard};
  NoPrograms programs;
  std::unique_ptr<image::WorkFolder> work = std::move(*image::WorkFolder::open(folder + "/work", random));
  image::Importer importer{images, programs, *work, clock, guard, "amd64"};
  boost::asio::thread_pool workers{2};
  Config config;
  ApiServices services{fleet, iam, {catalog, importer, *work}, workers, clock, random, config,
                       [] { return nlohmann::json::array(); }, [] { return nlohmann::json::array(); }};
  http::Router router;
  ApiRouter gate{router, authenticator, random};
  ApiRoutes routes{services, router};
  http::IoThreads io{1};
  std::unique_ptr<http::Server> server;
};

FakeServices::FakeServices() : world_(std::make_unique<World>()) {}
FakeServices::~FakeServices() = default;

std::string FakeServices::exchange(const std::string& bytes) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (world_->folder + "/api.sock").copy(address.sun_path, sizeof address.sun_path - 1);
  expect(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "the API accepts connections");
  timeval patience{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  (void)::shutdown(socket.get(), SHUT_WR);
  std::string answer;
  char block[16 * 1024];
  for (;;) {
    const auto count = ::recv(socket.get(), block, sizeof block, 0);
    if (count < 0 && errno == EINTR) continue;  // libFuzzer's timer
    expect(count >= 0 || errno == ECONNRESET, "the server answers or closes within a minute");
    if (count <= 0) return answer;
    answer.append(block, static_cast<std::size_t>(count));
  }
}

}  // namespace harena::fuzz
