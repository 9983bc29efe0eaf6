#pragma once
// The control API: sandboxes, templates, teams.

#include <functional>
#include <string>
#include <vector>

#include "plugins/e2b/answers.hpp"
#include "plugins/e2b/services.hpp"
#include "sdk/http/router.hpp"

namespace harena::e2b {

/// One authenticated call of the control API.
struct ControlCall {
  Services& services;
  http::Request& request;
  std::string key;        ///< the caller's, as it was sent: a Harena token
  std::string operation;  ///< for what is counted: "create"

  /// The body as a JSON object; {} when there is none. invalid_argument for anything else.
  http::Task<Result<nlohmann::json>> body();
  const std::string& param(const char* name) const { return request.param(name); }
};

/// All routes of the control API. Immutable after its making.
class Control {
 public:
  explicit Control(Services& services);
  /// The first route that couldn't be added: a mistake of ours.
  const Status& status() const { return status_; }
  /// Answers always; JSON 404 for a route that isn't known.
  http::Task<Status> serve(http::Request& request, http::ResponseWriter& response);

 private:
  using Handler = std::function<http::Task<Result<Answer>>(ControlCall&)>;
  void add(const char* method, const char* pattern, const char* operation, Handler handler);
  void add_health();
  void add_sandboxes();
  void add_templates();
  void add_others();
  void add_other_methods();

  Services& services_;
  http::Router router_;
  Status status_;
};

}  // namespace harena::e2b
