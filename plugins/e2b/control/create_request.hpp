#pragma once
// A create, parsed and checked: what E2B's body asks for, and the body of Harena's create that does it.

#include "plugins/e2b/control/fields.hpp"
#include "plugins/e2b/record.hpp"

namespace harena::e2b {

/// Which of the two forms: they differ in the default of `timeout`.
enum class CreateForm { v2, legacy };

struct CreateRequest {
  std::string template_name;  ///< as it came
  std::int64_t timeout_s = 0;
  bool auto_pause = false;
  bool auto_resume = false;
  std::map<std::string, std::string> env;
  bool wants_mcp_gateway = false;  ///< the SDK will start mcp-gateway of the template
  Extras extras;  ///< without the template's part
};

/// invalid_argument names the option that can't be honoured, or the value that is wrong.
Result<CreateRequest> parse_create(const nlohmann::json& body, CreateForm form, const Settings& settings, Counters& counters);

/// The body of POST /v1/backends/{backend}/sandboxes.
nlohmann::json core_create_body(const CreateRequest& request, const Template& from, const std::string& project);

/// The same with a snapshot in the place of a template. What isn't in it, the annotation among it, is as it was in the source.
nlohmann::json core_create_body(const CreateRequest& request, const std::string& snapshot_id, const std::string& project);
/// What the annotation of a sandbox made of a snapshot has to say: the caller's options, and the source's user and folder.
Extras extras_over(const Extras& source, const CreateRequest& request, const std::string& snapshot_id);
/// The annotation's text.
std::string annotation_of(const Extras& extras);

/// A timeout in whole seconds, from 1 to the longest allowed. invalid_argument otherwise.
Status check_timeout(std::int64_t seconds, const Settings& settings);
/// The field `timeout` of a call: `otherwise` where it is absent, invalid_argument where there is no such, and for what check_timeout refuses.
Result<std::int64_t> read_timeout(Fields& fields, std::optional<std::int64_t> otherwise, const Settings& settings);

/// Times that Harena understands so: kill or pause at the end, and while it is paused it has none.
nlohmann::json lifetime_fields(std::int64_t timeout_s, bool auto_pause, bool auto_resume);

}  // namespace harena::e2b
