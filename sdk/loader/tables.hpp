#pragma once
// Reading a contract's struct of functions: never beyond the plugin's struct_size, required functions present,
// groups of optional ones whole.

#include <string>
#include <string_view>
#include <vector>

#include "sdk/abi/backend.h"
#include "sdk/abi/backend_container.h"
#include "sdk/abi/frontend.h"
#include "sdk/abi/image_store.h"
#include "sdk/abi/state_store.h"
#include "sdk/base/result.hpp"

namespace harena::loader {

/// A copy in this host's size, with null for what the plugin's is too short for. invalid_argument names the function
/// that is missing: a required one, or one of a half-filled pair.
Result<harena_backend> read_backend(const void* table);
Result<harena_backend_container> read_backend_container(const void* table);
Result<harena_image_store> read_image_store(const void* table);
Result<harena_state_store> read_state_store(const void* table);
Result<harena_frontend> read_frontend(const void* table);

/// By contract id; ok for contracts that this host doesn't know. check_table is both of the others.
Status check_table(std::string_view contract, const void* table);
Status check_required(std::string_view contract, const void* table);
Status check_groups(std::string_view contract, const void* table);

/// The optional verbs of a backend: those whose functions are there.
std::vector<std::string> optional_verbs(const harena_backend& table);

}  // namespace harena::loader
