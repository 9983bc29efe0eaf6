#include "core/api/routes.hpp"

#include "core/api/console_gate.hpp"
#include "core/api/directory_routes.hpp"
#include "core/api/event_routes.hpp"
#include "core/api/image_routes.hpp"
#include "core/api/installation_routes.hpp"
#include "core/api/openapi.hpp"
#include "core/api/sandbox_routes.hpp"
#include "core/api/session_gate.hpp"
#include "core/api/snapshot_routes.hpp"

namespace harena {

struct ApiRoutes::Rooms {
  Rooms(ApiServices& services, const http::Router& all)
      : sandboxes(services), snapshots(services), directory(services), events(services), images(services), installation(services),
        sessions(services), consoles(services), fleet(services.fleet), router(all) {}

  http::Task<Result<Reply>> openapi(ApiCall&) {
    const auto backends = co_await fleet.backends();
    co_return Reply{200, openapi_document(router.routes(), backends)};
  }

  SandboxRoutes sandboxes;
  SnapshotRoutes snapshots;
  DirectoryRoutes directory;
  EventRoutes events;
  ImageRoutes images;
  InstallationRoutes installation;
  SessionGate sessions;
  ConsoleGate consoles;
  Fleet& fleet;
  const http::Router& router;
};

ApiRoutes::ApiRoutes(ApiServices& services, const http::Router& router)
    : rooms_(std::make_unique<Rooms>(services, router)) {}
ApiRoutes::~ApiRoutes() = default;

void ApiRoutes::add_to(ApiRouter& gate) {
  rooms_->sandboxes.add_to(gate);
  rooms_->snapshots.add_to(gate);
  rooms_->directory.add_to(gate);
  rooms_->events.add_to(gate);
  rooms_->images.add_to(gate);
  rooms_->installation.add_to(gate);
  rooms_->sessions.add_to(gate);
  rooms_->consoles.add_to(gate);
  gate.add("GET", "/v1/openapi.json", "openapi", "This document", rooms_.get(), &Rooms::openapi);
}

}  // namespace harena
