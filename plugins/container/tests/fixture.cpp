#include "plugins/container/tests/fixture.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "plugins/container/apparmor.hpp"
#include "sdk/support/cgroup_tree.hpp"
#include "sdk/support/files.hpp"
#include "sdk/support/process.hpp"

extern "C" const harena_plugin_descriptor* harena_plugin_entry_container();

namespace harena::container::testing {
namespace fs = std::filesystem;
namespace {

std::string text_of(harena_str text) { return text.ptr == nullptr ? std::string() : std::string(text.ptr, text.len); }

/// Removed when the test program ends.
struct TemporaryFolder {
  fs::path path;
  TemporaryFolder() {
    std::string name = (fs::temp_directory_path() / "harena-container-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

fs::path temporary_root() {
  static const TemporaryFolder kFolder;
  return kFolder.path;
}

std::string binary(const char* name) {
  const char* folder = std::getenv("HARENA_BUILD_DIR");
  return (folder != nullptr ? fs::path(folder) / "bin" : fs::read_symlink("/proc/self/exe").parent_path()) / name;
}

std::string make_image() {
  const fs::path root = temporary_root() / "rootfs";
  for (const char* folder : {"bin", "etc", "proc", "sys", "dev", "tmp", "root", "usr"}) fs::create_directories(root / folder);
  fs::permissions(root / "tmp", fs::perms::all | fs::perms::sticky_bit);
  std::ofstream(root / "etc/passwd") << "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000::/:/bin/sh\n";
  std::ofstream(root / "etc/group") << "root:x:0:\nuser:x:1000:\n";
  std::ofstream(root / "etc/marker") << "lower\n";
  std::ofstream(root / "etc/resolv.conf") << "nameserver 203.0.113.9\n";
  for (const char* candidate : {"/bin/busybox", "/usr/bin/busybox"}) {
    if (!fs::exists(candidate)) continue;
    fs::copy_file(candidate, root / "bin/busybox", fs::copy_options::overwrite_existing);
    for (const char* name : {"sh", "ls", "cat", "id", "ps", "sleep", "dd", "mount", "umount", "chattr", "touch", "rm", "mkdir", "hostname", "kill", "head",
                             "stat", "tail", "wc", "yes", "grep", "true", "false", "ip", "unshare", "mknod", "chown", "chroot", "find", "readlink", "env", "test", "seq", "df", "nproc", "free", "uptime"}) {
      std::error_code ignored;
      fs::create_symlink("busybox", root / "bin" / name, ignored);
    }
    fs::copy_file(binary("container_attack"), root / "bin/attack", fs::copy_options::overwrite_existing);
    const std::string image = (temporary_root() / "image.erofs").string();
    const std::string command = "mkfs.erofs --all-root " + image + " " + root.string() + " >/dev/null 2>&1";
    if (std::system(command.c_str()) == 0) return image;
  }
  return {};
}

}  // namespace

std::string new_id() {
  static std::atomic<int> serial = 0;
  char text[32];
  std::snprintf(text, sizeof text, "t%07d%08dtest", static_cast<int>(::getpid()) % 10000000, ++serial);
  return text;
}

std::string image_path() {
  const char* given = std::getenv("HARENA_TEST_IMAGE");
  static const std::string kImage = given != nullptr ? given : make_image();
  return kImage;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

namespace {

/// The kernel would keep it until the next boot; nobody is under it any more.
void remove_profile(const std::string& name) {
  const std::string folder = "/sys/kernel/security/apparmor";
  if (read_text(folder + "/profiles").find(name + " (") == std::string::npos) return;
  std::ofstream(folder + "/.remove") << name << std::flush;
}

}  // namespace

void remove_instance(const std::string& instance) {
  remove_profile(apparmor_profile_name(instance));
  auto layout = detect_cgroups();
  if (!layout.ok()) return;
  auto tree = CgroupTree::open(*layout, "harena", instance);
  if (!tree.ok()) return;
  (void)tree->remove_platform("launcher", monotonic_now_ns() + 5'000'000'000);
  (void)tree->remove_instance();
}

std::string Backend::why_not() {
  if (::geteuid() != 0) return "containers need root";
  if (image_path().empty()) return "mkfs.erofs (erofs-utils) or busybox (busybox-static) is missing";
  Backend backend;
  auto probe = backend.probe();
  return probe.result.value("usable", false) ? std::string() : probe.result.dump();
}

Backend::Backend(json config) : instance_("test-" + new_id().substr(1, 15)), folder_(temporary_root() / instance_), config_(std::move(config)) {
  fs::create_directories(folder_ / "run");
  fs::create_directories(folder_ / "state");
  config_["instance"] = instance_;
  // What is left of a life is counted, so without a pool; HARENA_TEST_POOL runs a suite again with one.
  const char* pool = std::getenv("HARENA_TEST_POOL");
  pool_ = pool != nullptr && !config_.contains("pool") ? std::atoi(pool) : 0;
  if (!config_.contains("pool")) config_["pool"] = pool_;
  config_["launcher_path"] = binary("harena-container-launcher");
  if (!config_.contains("shim_path")) config_["shim_path"] = binary("container_probe_shim");
  host_.struct_size = sizeof host_;
  host_.context = this;
  host_.event = [](void* context, harena_str text) {
    auto* self = static_cast<Backend*>(context);
    std::lock_guard lock(self->events_mutex_);
    self->events_.push_back(json::parse(text_of(text)));
  };
  // They would count as left behind; tests/disk_pool_test.cpp has them.
  if (!config_.contains("ready_disks")) config_["ready_disks"] = 0;
  load();
}

Backend::~Backend() {
  if (table_ != nullptr) (void)sweep({});
  harena_plugin_entry_container()->destroy(plugin_);
  remove_instance(instance_);
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Backend::load() {
  const auto* descriptor = harena_plugin_entry_container();
  const std::string config = config_.dump();
  auto outcome = call([&](const harena_call* raw) { return descriptor->create(raw, &host_, view(config), &plugin_); });
  if (outcome.status != HARENA_OK) throw std::runtime_error(outcome.message);
  table_ = static_cast<const harena_backend*>(descriptor->get_contract(plugin_, view(HARENA_BACKEND_CONTRACT)));
  container_table_ = static_cast<const harena_backend_container*>(descriptor->get_contract(plugin_, view(HARENA_BACKEND_CONTAINER_CONTRACT)));
}

void Backend::restart() {
  harena_plugin_entry_container()->destroy(plugin_);
  load();
}

Outcome Backend::call(const std::function<harena_status(const harena_call*)>& body, std::int64_t deadline_ns) {
  Outcome outcome;
  harena_sink sink{};
  sink.struct_size = sizeof sink;
  sink.context = &outcome;
  sink.result = [](void* context, harena_str text) {
    if (text.len != 0) static_cast<Outcome*>(context)->result = json::parse(text_of(text));
  };
  sink.error = [](void* context, const harena_error* error) {
    auto* outcome = static_cast<Outcome*>(context);
    outcome->message = text_of(error->message);
    outcome->cause = error->cause;
    outcome->cause_detail = text_of(error->cause_detail);
  };
  harena_call record{};
  record.struct_size = sizeof record;
  record.deadline_ns = deadline_ns;
  record.sink = &sink;
  outcome.status = body(&record);
  return outcome;
}

/// With a pool: the create that is to be tested finds one.
void Backend::warm_up() {
  if (pool_ == 0) return;
  std::lock_guard lock(warming_);  // tests create in many threads
  if (probe().result["facts"].value("prepared", 0) == 0) {
    const std::string id = new_id();
    (void)create_now(id, json::object(), 0);
    (void)stop(id);
  }
  await_blanks(1);
}

json Backend::request_for(const std::string& id, json params) {
  fs::create_directories(folder_ / "run" / id);
  fs::create_directories(folder_ / "state" / id);
  return json{{"sandbox_id", id},
              {"run_dir", (folder_ / "run" / id).string()},
              {"state_dir", (folder_ / "state" / id).string()},
              {"params", std::move(params)},
              {"layers", {{{"digest", digest_}, {"path", image_path()}, {"format", "erofs"}}}},
              {"image_config", {{"env", {"FROM_IMAGE=yes"}}}}};
}

Outcome Backend::create(const std::string& id, json params, std::int64_t deadline_ns) {
  warm_up();
  return create_now(id, std::move(params), deadline_ns);
}

Outcome Backend::create_now(const std::string& id, json params, std::int64_t deadline_ns) {
  const std::string request = request_for(id, std::move(params)).dump();
  return call([&](const harena_call* raw) { return table_->create(plugin_, raw, view(request)); }, deadline_ns);
}

Outcome Backend::fork(const std::string& id, const std::vector<std::string>& children, json params) {
  json requests = json::array();
  for (const auto& child : children) requests.push_back(request_for(child, params));
  const std::string text = requests.dump();
  return call([&](const harena_call* raw) { return table_->fork(plugin_, raw, view(id), view(text)); });
}

Outcome Backend::snapshot(const std::string& id, const std::string& name) {
  fs::create_directories(folder_ / "snapshots" / name);
  const std::string text = json{{"snapshot_id", name}, {"dir", (folder_ / "snapshots" / name).string()}}.dump();
  return call([&](const harena_call* raw) { return table_->snapshot(plugin_, raw, view(id), view(text)); });
}

Outcome Backend::restore(const std::string& id, const std::string& state, json params) {
  json request = request_for(id, std::move(params));
  request["snapshot_state"] = state;
  const std::string text = request.dump();
  return call([&](const harena_call* raw) { return table_->restore(plugin_, raw, view(text)); });
}

Outcome Backend::rollback(const std::string& id, const std::string& state) {
  return call([&](const harena_call* raw) { return table_->rollback(plugin_, raw, view(id), view(state)); });
}

Outcome Backend::drop_snapshot(const std::string& name) {
  fs::remove_all(folder_ / "snapshots" / name);
  return call([&](const harena_call* raw) { return table_->stop(plugin_, raw, view(name), 0); });
}

void Backend::remove_folders(const std::string& id) {
  std::error_code ignored;
  fs::remove_all(folder_ / "run" / id, ignored);
  fs::remove_all(folder_ / "state" / id, ignored);
}

Outcome Backend::stop(const std::string& id, std::int64_t grace_ms) {
  auto outcome = stop_processes(id, grace_ms);
  // As the core does: the second returns when the folders may go.
  if (outcome.status == HARENA_OK) outcome = stop_processes(id, 0);
  if (outcome.status == HARENA_OK) remove_folders(id);
  return outcome;
}
Outcome Backend::stop_processes(const std::string& id, std::int64_t grace_ms) {
  return call([&](const harena_call* raw) { return table_->stop(plugin_, raw, view(id), grace_ms); });
}
Outcome Backend::pause(const std::string& id) {
  return call([&](const harena_call* raw) { return table_->pause(plugin_, raw, view(id)); });
}
Outcome Backend::resume(const std::string& id) {
  return call([&](const harena_call* raw) { return table_->resume(plugin_, raw, view(id)); });
}
Outcome Backend::usage(const std::string& id) {
  return call([&](const harena_call* raw) { return table_->usage(plugin_, raw, view(id)); });
}
Outcome Backend::resize(const std::string& id, const json& before, const json& after) {
  const std::string request = json{{"before", before}, {"params", after}, {"details", json::object()}}.dump();
  return call([&](const harena_call* raw) { return container_table_->resize(plugin_, raw, view(id), view(request)); });
}
Outcome Backend::sweep(const std::vector<std::string>& known) {
  const std::string text = json(known).dump();
  return call([&](const harena_call* raw) { return table_->sweep(plugin_, raw, view(text)); });
}
Outcome Backend::recover(const std::string& id, const std::string& state) {
  return call([&](const harena_call* raw) { return table_->recover(plugin_, raw, view(id), view(state)); });
}
Outcome Backend::probe() {
  return call([&](const harena_call* raw) { return table_->probe(plugin_, raw); });
}

void Backend::await_blanks(int count) {
  const std::int64_t deadline = monotonic_now_ns() + 20'000'000'000;
  while (probe().result["facts"].value("prepared", 0) < count) {
    ASSERT_LT(monotonic_now_ns(), deadline) << "the pool isn't filled";
    ::usleep(1000);
  }
}

pid_t Backend::launcher_pid() const {
  auto layout = detect_cgroups();
  const std::string procs = layout->v2_root + "/harena/" + instance_ + "/platform/launcher/cgroup.procs";
  return std::atoi(read_text(procs).c_str());
}

int Backend::start(const std::string& id, const std::vector<std::string>& argv) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (folder_ / "run" / id / "session.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return socket;
  std::string request;
  for (const auto& argument : argv) request += argument + '\0';
  (void)!::write(socket, request.data(), request.size());
  ::shutdown(socket, SHUT_WR);
  return socket;
}

CommandResult Backend::run(const std::string& id, const std::vector<std::string>& argv) {
  const int socket = start(id, argv);
  CommandResult result;
  char block[4096];
  for (ssize_t got; (got = ::read(socket, block, sizeof block)) > 0;) result.output.append(block, static_cast<std::size_t>(got));
  ::close(socket);
  const std::size_t mark = result.output.rfind("\nexit=");
  if (mark == std::string::npos) return result;
  result.exit = std::atoi(result.output.c_str() + mark + 6);
  result.output.resize(mark);
  return result;
}

}  // namespace harena::container::testing
