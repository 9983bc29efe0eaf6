#pragma once
// What the routes work with. Everything outlives the server and is thread-safe.

#include <boost/asio/thread_pool.hpp>

#include <functional>
#include <string>

#include "core/api/fleet.hpp"
#include "core/config/config.hpp"
#include "core/contracts/identity.hpp"
#include "core/iam/iam_service.hpp"
#include "core/image/catalog.hpp"
#include "core/image/import.hpp"
#include "core/store/event_repository.hpp"
#include "sdk/base/clock.hpp"
#include "sdk/base/random.hpp"

namespace harena {

/// The images of this installation (core/image).
struct ImageServices {
  image::Catalog& catalog;
  image::Importer& importer;
  image::WorkFolder& work;
};

struct ApiServices {
  Fleet& fleet;
  IamService& iam;
  ImageServices images;
  boost::asio::thread_pool& workers;
  Clock& clock;
  RandomSource& random;
  const Config& config;
  std::function<nlohmann::json()> plugins;  ///< the lines of GET /v1/plugins
  std::function<nlohmann::json()> doctor;   ///< findings; may take a second, called on a worker
  EventRepository* events = nullptr;        ///< null: no trail is kept
};

}  // namespace harena
