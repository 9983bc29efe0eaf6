#include "plugins/container/launcher/protocol.hpp"

namespace harena::container {

Fields BlankRequest::encode() const {
  Fields fields{{"verb", "prepare"}};
  fields.set("first_id", static_cast<std::int64_t>(first_id));
  fields.set("shm_bytes", shm_bytes);
  fields.set("cpus", cpus);
  fields.set_list("lxcfs", lxcfs);
  fields.set("stage", stage);
  fields.set_list("stage_paths", stage_paths);
  return fields;
}

Result<BlankRequest> BlankRequest::decode(const Fields& fields) {
  BlankRequest request;
  HARENA_TRY(auto first_id, fields.number("first_id"));
  HARENA_TRY(request.shm_bytes, fields.number("shm_bytes"));
  request.first_id = static_cast<std::uint32_t>(first_id);
  request.lxcfs = fields.list("lxcfs");
  HARENA_TRY(auto cpus, fields.number("cpus"));
  request.cpus = static_cast<int>(cpus);
  request.stage = fields.text("stage");
  request.stage_paths = fields.list("stage_paths");
  return request;
}

Fields SandboxRequest::encode() const {
  Fields fields = BlankRequest::encode();
  fields.set("verb", "create");
  fields.set("id", id);
  fields.set("state_dir", state_dir);
  fields.set("hostname", hostname);
  fields.set("apparmor", apparmor);
  fields.set("upper", upper);
  fields.set("work", work);
  fields.set("readonly_rootfs", readonly_rootfs ? 1 : 0);
  fields.set("capabilities", static_cast<std::int64_t>(capabilities));
  fields.set("disk", disk ? 1 : 0);
  fields.set("staged", staged ? 1 : 0);
  fields.set_list("rlimits", rlimits);
  fields.set_list("layers", layers);
  fields.set_list("frozen", frozen);
  fields.set_list("layer_paths", layer_paths);
  fields.set_list("tmpfs", tmpfs);
  fields.set_list("mount_targets", mount_targets);
  fields.set_list("environment", environment);
  return fields;
}

Result<SandboxRequest> SandboxRequest::decode(const Fields& fields) {
  SandboxRequest request;
  HARENA_TRY(static_cast<BlankRequest&>(request), BlankRequest::decode(fields));
  request.id = fields.text("id");
  request.state_dir = fields.text("state_dir");
  request.hostname = fields.text("hostname");
  request.apparmor = fields.text("apparmor");
  HARENA_TRY(auto readonly_rootfs, fields.number("readonly_rootfs"));
  HARENA_TRY(auto capabilities, fields.number("capabilities"));
  request.readonly_rootfs = readonly_rootfs != 0;
  request.capabilities = static_cast<std::uint64_t>(capabilities);
  HARENA_TRY(auto disk, fields.number("disk"));
  request.disk = disk != 0;
  HARENA_TRY(auto staged, fields.number("staged"));
  request.staged = staged != 0;
  request.rlimits = fields.list("rlimits");
  request.layers = fields.list("layers");
  request.frozen = fields.list("frozen");
  request.upper = fields.text("upper");
  request.work = fields.text("work");
  request.layer_paths = fields.list("layer_paths");
  request.tmpfs = fields.list("tmpfs");
  request.mount_targets = fields.list("mount_targets");
  request.environment = fields.list("environment");
  return request;
}

Fields encode_error(const Error& error) {
  std::string message;
  for (auto it = error.context.rbegin(); it != error.context.rend(); ++it) message += *it + ": ";
  Fields fields{{"message", message + error.message}, {"part", error.cause_detail}};
  fields.set("code", static_cast<std::int64_t>(error.code));
  fields.set("cause", static_cast<std::int64_t>(error.cause));
  return fields;
}

Result<Fields> decode_answer(std::string_view bytes) {
  HARENA_TRY(auto fields, Fields::decode(bytes));
  if (fields.has("ok")) return fields;
  HARENA_TRY(auto code, fields.number("code"));
  // Whatever fails in the launcher is this machine's doing: the plugin has checked the user's values before.
  Error error = infrastructure_error(static_cast<ErrorCode>(code), "container-launcher", fields.text("message"));
  if (!fields.text("part").empty()) error.cause_detail = fields.text("part");
  return error;
}

}  // namespace harena::container
