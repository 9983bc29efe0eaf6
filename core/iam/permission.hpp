#pragma once
// The permissions: names, what each allows, and how sets of them compare.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/contracts/identity.hpp"

namespace harena {

/// All that exist, in the order of the enum.
std::span<const Permission> all_permissions();
std::optional<Permission> permission_from_string(std::string_view name);
/// One sentence for documents and `harena token create --help`.
std::string_view describe(Permission permission);

/// True when a holder of `held` may do what `wanted` allows: it is in the set, or `admin` is, which contains all.
bool grants(const std::vector<Permission>& held, Permission wanted);
/// The first of `wanted` that `held` doesn't grant; nullopt when it grants all.
std::optional<Permission> first_missing(const std::vector<Permission>& held, const std::vector<Permission>& wanted);

/// Parses names; invalid_argument names the unknown one and the nearest right one. Duplicates are dropped.
Result<std::vector<Permission>> parse_permissions(const std::vector<std::string>& names);
std::vector<std::string> permission_names(const std::vector<Permission>& permissions);

}  // namespace harena
