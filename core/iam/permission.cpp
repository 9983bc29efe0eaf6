#include "core/iam/permission.hpp"

#include <algorithm>
#include <array>

#include "sdk/base/text.hpp"

namespace harena {
namespace {

using P = Permission;

struct Row {
  Permission permission;
  std::string_view name;
  std::string_view description;
};

constexpr std::array<Row, 11> kTable = {{
    {P::sandbox_create, "sandbox_create", "Create, fork and restore sandboxes; what they use counts against the project's quota."},
    {P::sandbox_read, "sandbox_read", "List sandboxes, see their state, labels and usage."},
    {P::sandbox_use, "sandbox_use", "Run commands, read and write files, reach ports, pause and resume."},
    {P::sandbox_stop, "sandbox_stop", "Stop sandboxes and change their time to live and labels."},
    {P::image_read, "image_read", "List images, see their layers, use them for sandboxes."},
    {P::image_write, "image_write", "Import, build, tag and remove images."},
    {P::project_read, "project_read", "List projects, see their limits and what they use."},
    {P::project_write, "project_write", "Create and remove projects below this one and set their limits."},
    {P::token_write, "token_write", "Create, list and revoke tokens, never with more than one's own permissions."},
    {P::node_read, "node_read", "See the machines, their load, backends and plugins."},
    {P::admin, "admin", "Everything in this project and below it; on the root also what concerns the machines."},
}};

constexpr auto kAll = [] {
  std::array<Permission, kTable.size()> all{};
  for (std::size_t i = 0; i < kTable.size(); ++i) all[i] = kTable[i].permission;
  return all;
}();

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].permission) != i) return false;
  }
  return true;
}
static_assert(in_order(), "the table has one row a permission, in the order of the enum");

const Row* row_of(Permission permission) {
  const auto index = static_cast<std::size_t>(permission);
  return index < kTable.size() ? &kTable[index] : nullptr;
}

}  // namespace

std::span<const Permission> all_permissions() { return kAll; }

std::string_view to_string(Permission permission) {
  const Row* row = row_of(permission);
  return row ? row->name : "unknown";
}

std::string_view describe(Permission permission) {
  const Row* row = row_of(permission);
  return row ? row->description : "";
}

std::optional<Permission> permission_from_string(std::string_view name) {
  for (const auto& row : kTable) {
    if (row.name == name) return row.permission;
  }
  return std::nullopt;
}

bool grants(const std::vector<Permission>& held, Permission wanted) {
  return std::any_of(held.begin(), held.end(), [&](Permission have) { return have == wanted || have == P::admin; });
}

std::optional<Permission> first_missing(const std::vector<Permission>& held, const std::vector<Permission>& wanted) {
  const auto it = std::find_if(wanted.begin(), wanted.end(), [&](Permission one) { return !grants(held, one); });
  return it == wanted.end() ? std::nullopt : std::optional(*it);
}

Result<std::vector<Permission>> parse_permissions(const std::vector<std::string>& names) {
  std::vector<Permission> permissions;
  for (const auto& name : names) {
    const auto permission = permission_from_string(name);
    if (!permission) {
      const auto known = permission_names({kAll.begin(), kAll.end()});
      return make_error(ErrorCode::invalid_argument,
                        "there is no permission '" + name.substr(0, 64) + "'" + suggestion(name, known));
    }
    if (std::find(permissions.begin(), permissions.end(), *permission) == permissions.end()) {
      permissions.push_back(*permission);
    }
  }
  return permissions;
}

std::vector<std::string> permission_names(const std::vector<Permission>& permissions) {
  std::vector<std::string> names;
  for (const auto permission : permissions) names.emplace_back(to_string(permission));
  return names;
}

}  // namespace harena
