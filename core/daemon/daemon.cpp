#include "core/daemon/daemon.hpp"

#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "core/apiserver/apiserver_role.hpp"
#include "core/daemon/notify.hpp"
#include "core/edge/edge_role.hpp"
#include "core/pluginhost/host_api.hpp"
#include "core/telemetry/exchange_metrics.hpp"
#include "core/telemetry/health_server.hpp"
#include "core/telemetry/logger.hpp"
#include "core/telemetry/process_metrics.hpp"
#include "core/watcher/watcher_role.hpp"

namespace harena {

/// Members in the order of their making: what stands above outlives what stands below.
struct Daemon::Parts {
  explicit Parts(Config given);

  std::unique_ptr<ApiServices> make_services();
  Step health_step();
  Step descriptors_step();
  Step ready_step();
  void notice(const std::string& level, const std::string& message);
  nlohmann::json plugins_json();

  Config config;
  SystemClock clock;
  SystemRandom random;
  std::unique_ptr<Logger> log;
  MetricsRegistry metrics;
  Readiness readiness;
  HostApi host_api;
  std::unique_ptr<http::IoThreads> health_io;
  std::unique_ptr<HealthServer> health;
  EdgeRole edge;
  WatcherRole watcher;
  std::unique_ptr<Fleet> fleet;
  ApiserverRole apiserver;
  StepList steps;
};

Daemon::Parts::Parts(Config given)
    : config(std::move(given)),
      edge({config, clock, random, [this](auto level, auto message) { notice(level, message); },
            [this](const auto& plugin, const auto& id) { return id == HostApi::kService ? host_api.table(plugin) : nullptr; }}),
      apiserver({config, clock, random, [this](auto level, auto message) { notice(level, message); },
                 [this] { return make_services(); }, exchange_metrics(metrics, "api"), host_api,
                 [this] { return edge.plugins().frontends(); }}),
      steps([this](const std::string& line) { log->debug(line); }) {
  add_process_metrics(metrics);
  metrics.collected([this] {
    std::vector<CollectedSample> all;
    for (auto& one : apiserver.frontend_samples()) {
      all.push_back({std::move(one.name), std::move(one.help), std::move(one.type), std::move(one.labels), one.value});
    }
    return all;
  });
}

void Daemon::Parts::notice(const std::string& level, const std::string& message) {
  log->log(log_level_from_string(level).value_or(LogLevel::info), message);
}

nlohmann::json Daemon::Parts::plugins_json() {
  nlohmann::json list = nlohmann::json::array();
  const auto frontends = apiserver.frontends();
  for (const auto& listing : edge.plugins().plugins()) {
    auto line = to_json(listing);
    line["state"] = "loaded";  // A plugin that can't be loaded ends the start.
    if (const auto it = frontends.find(listing.name); it != frontends.end()) line["listen"] = it->second;
    list.push_back(std::move(line));
  }
  return list;
}

std::unique_ptr<ApiServices> Daemon::Parts::make_services() {
  watcher = WatcherRole();
  watcher.watch([this] { return edge.view(); });
  fleet = std::make_unique<Fleet>([this] { return watcher.nodes(); }, Fleet::TableKind::live, clock, random);
  fleet->add(edge.code(), edge.edge());
  metrics.computed("harena_sandboxes_living", "Sandboxes of this edge that haven't ended.", "gauge",
                   [this] { return static_cast<double>(edge.manager().living()); });
  auto& images = edge.images();
  return std::make_unique<ApiServices>(ApiServices{
      .fleet = *fleet,
      .iam = edge.iam(),
      .images = {images.catalog, images.importer, *images.work},
      .workers = edge.workers(),
      .clock = clock,
      .random = random,
      .config = config,
      .plugins = [this] { return plugins_json(); },
      .doctor = [this] { return edge.doctor(); },
      .events = &edge.events()});
}

/// Health answers from the first moment on: not ready until the last step.
Step Daemon::Parts::health_step() {
  return {"health",
          [this]() -> Status {
            readiness.add("started", [] { return Status(make_error(ErrorCode::unavailable, "still starting")); });
            health_io = std::make_unique<http::IoThreads>(1);
            const HealthOptions options{.address = config.health.host, .port = config.health.port};
            HARENA_TRY(health, HealthServer::start(*health_io, options, metrics, readiness));
            return ok_status();
          },
          [this] {
            health->stop();
            health.reset();
            health_io.reset();
          }};
}

/// Two descriptors an attached stream: the soft limit of most systems ends at 500 of them. Behind the edge's steps, so that what
/// those start (and through it the sandboxes) has the limit that this process was started with.
Step Daemon::Parts::descriptors_step() {
  return {"descriptors",
          [this]() -> Status {
            rlimit limit{};
            if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return errno_error(errno, "asking for the limit of open files");
            limit.rlim_cur = limit.rlim_max;
            if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return errno_error(errno, "raising the limit of open files");
            log->debug("up to " + std::to_string(limit.rlim_cur) + " open files");
            return ok_status();
          },
          [] {}};
}

/// run_dir/harenad.json tells tools (and tests, which listen on port 0) where this process is.
Step Daemon::Parts::ready_step() {
  return {"ready",
          [this]() -> Status {
            const nlohmann::json about = {{"pid", ::getpid()},
                                          {"version", HARENA_VERSION},
                                          {"edge", edge.code()},
                                          {"api_port", apiserver.port()},
                                          {"frontends", apiserver.frontends()},
                                          {"health_port", health->port()}};
            const std::string path = config.run_dir + "/harenad.json";
            std::ofstream(path + ".new") << about.dump() << "\n";
            if (std::rename((path + ".new").c_str(), path.c_str()) != 0) return errno_error(errno, "writing " + path);
            readiness.remove("started");
            notify_systemd("READY=1");
            log->info("ready", {{"version", HARENA_VERSION}, {"edge", edge.code()}});
            return ok_status();
          },
          [this] {
            notify_systemd("STOPPING=1");
            readiness.add("started", [] { return Status(make_error(ErrorCode::unavailable, "stopping")); });
            std::error_code ignored;
            std::filesystem::remove(config.run_dir + "/harenad.json", ignored);
          }};
}

Daemon::Daemon(Config config) : parts_(std::make_unique<Parts>(std::move(config))) {}
Daemon::~Daemon() = default;

Status Daemon::run_until_signal() {
  auto& parts = *parts_;
  // Blocked before any thread exists, so that every thread has them blocked and the descriptor alone hears of them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  const UniqueFd heard(::signalfd(-1, &signals, SFD_CLOEXEC));
  ::umask(077);

  LogOptions options;
  options.level = log_level_from_string(parts.config.log.level).value_or(LogLevel::info);
  options.format = parts.config.log.format == "json" ? LogFormat::json : LogFormat::text;
  HARENA_TRY(parts.log, Logger::open(options, parts.clock));

  parts.steps.add(parts.health_step());
  parts.edge.add_steps(parts.steps);
  parts.steps.add(parts.descriptors_step());
  parts.apiserver.add_steps(parts.steps);
  parts.steps.add(parts.ready_step());
  HARENA_TRY_STATUS(parts.steps.start());

  signalfd_siginfo info{};
  while (::read(heard.get(), &info, sizeof info) < 0 && errno == EINTR) {
  }
  parts.log->info("stopping: running calls have " + std::to_string(parts.config.limits.drain_s) + " s to end; sandboxes go on");
  ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);  // The next signal ends the process at once.
  parts.steps.stop();
  parts.log->info("stopped");
  return ok_status();
}

}  // namespace harena
