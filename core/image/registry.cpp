#include "core/image/registry.hpp"

#include <algorithm>
#include <system_error>
#include <vector>

#include "sdk/base/text.hpp"

namespace harena::image {
namespace {

struct Symptom {
  std::string_view text;  // lower case
  ErrorCode code;
  std::string_view means;
};

/// In the order in which they are looked for: the more telling first.
const std::vector<Symptom>& symptoms() {
  static const std::vector<Symptom> all = {
      {"no space left on device", ErrorCode::resource_exhausted, "there is no space left in the work folder"},
      {"no image found in manifest list", ErrorCode::failed_precondition, "it isn't there for this architecture"},
      {"no image found in image index", ErrorCode::failed_precondition, "it isn't there for this architecture"},
      {"http response to https client", ErrorCode::failed_precondition, "the registry speaks plain HTTP; allow that with the option 'insecure'"},
      {"x509:", ErrorCode::failed_precondition, "nobody vouches for the registry's certificate; allow that with the option 'insecure', or install its authority"},
      {"certificate", ErrorCode::failed_precondition, "the registry's certificate isn't accepted"},
      {"toomanyrequests", ErrorCode::unavailable, "the registry refuses more requests for now"},
      {"manifest unknown", ErrorCode::not_found, "the registry has no such tag or digest"},
      {"name unknown", ErrorCode::not_found, "the registry has no such image"},
      {"unauthorized", ErrorCode::unauthenticated, "the registry wants a login, or the image doesn't exist"},
      {"authentication required", ErrorCode::unauthenticated, "the registry wants a login, or the image doesn't exist"},
      {"access to the resource is denied", ErrorCode::unauthenticated, "the registry wants a login, or the image doesn't exist"},
      {"403 (forbidden)", ErrorCode::permission_denied, "the registry forbids it"},
      {"404 (not found)", ErrorCode::not_found, "the registry has no such image"},
      {"no such host", ErrorCode::unavailable, "the registry's name can't be resolved; is there a network?"},
      {"server misbehaving", ErrorCode::unavailable, "the registry's name can't be resolved; is there a network?"},
      {"connection refused", ErrorCode::unavailable, "nothing answers at the registry's address"},
      {"network is unreachable", ErrorCode::unavailable, "there is no network"},
      {"no route to host", ErrorCode::unavailable, "there is no network to the registry"},
      {"timeout", ErrorCode::unavailable, "the registry doesn't answer"},
      {"deadline exceeded", ErrorCode::unavailable, "the registry doesn't answer"},
      {"connection reset", ErrorCode::unavailable, "the registry broke the connection off"},
      {"unexpected eof", ErrorCode::unavailable, "the registry broke the connection off"},
      {"policy.json", ErrorCode::failed_precondition, "the signature policy /etc/containers/policy.json refuses it or can't be read"},
  };
  return all;
}

/// skopeo's own sentence: the msg="..." of its last fatal line, printable and short.
std::string sentence(const std::string& output) {
  const auto fatal = output.rfind("level=fatal");
  auto start = output.find("msg=\"", fatal == std::string::npos ? 0 : fatal);
  start = start == std::string::npos ? 0 : start + 5;
  std::string text;
  for (std::size_t i = start; i < output.size() && output[i] != '\n' && text.size() < 400; ++i) {
    if (output[i] == '"') break;
    if (output[i] == '\\' && i + 1 < output.size()) ++i;
    text += output[i] >= ' ' && output[i] <= '~' ? output[i] : '?';
  }
  return text;
}

std::vector<std::string> command(const std::string& location, const std::filesystem::path& layout, const RegistryOptions& options) {
  std::vector<std::string> argv = {"skopeo", "--override-os", "linux", "--override-arch", options.architecture};
  std::error_code ignored;
  // Without a policy file skopeo refuses everything; with one, the operator's word holds.
  if (!std::filesystem::exists("/etc/containers/policy.json", ignored)) argv.push_back("--insecure-policy");
  argv.insert(argv.end(), {"copy", "--quiet", "--retry-times", "2"});
  if (options.insecure) argv.push_back("--src-tls-verify=false");
  if (!options.authfile.empty()) argv.push_back("--src-authfile=" + options.authfile);
  argv.push_back("docker://" + location);
  argv.push_back("oci:" + layout.string() + ":image");
  return argv;
}

}  // namespace

Error explain_skopeo(const std::string& location, const std::string& output) {
  const auto text = ascii_lower(output);
  const auto known = std::find_if(symptoms().begin(), symptoms().end(),
                                  [&](const auto& symptom) { return text.find(symptom.text) != std::string::npos; });
  const bool found = known != symptoms().end();
  auto error = make_error(found ? known->code : ErrorCode::internal,
                          "docker://" + location + ": " + (found ? std::string(known->means) : "skopeo failed") + " (" + sentence(output) + ")");
  if (error.code == ErrorCode::unavailable || error.code == ErrorCode::internal) {
    error.cause = Cause::infrastructure;
    error.cause_detail = "registry";
    error.retry = Retry::same_node;
  }
  return error;
}

Status fetch_from_registry(ProcessSpawner& spawner, const std::string& location, const std::filesystem::path& layout,
                           const RegistryOptions& options, const Checkpoint& checkpoint) {
  HARENA_TRY(const auto outcome, spawner.run(command(location, layout, options), {}, checkpoint));
  if (outcome.exit_code == 0) return ok_status();
  return explain_skopeo(location, outcome.output);
}

}  // namespace harena::image
