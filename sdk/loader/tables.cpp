#include "sdk/loader/tables.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace harena::loader {
namespace {

struct Slot {
  const char* name;
  bool there;
};

Error incomplete(std::string_view contract, std::string message) {
  return make_error(ErrorCode::invalid_argument, "the plugin's " + std::string(contract) + " " + std::move(message));
}

template <class Table>
Result<Table> copy_table(std::string_view contract, const void* raw) {
  if (raw == nullptr) return incomplete(contract, "is null, though its descriptor lists it");
  std::uint32_t size = 0;
  std::memcpy(&size, raw, sizeof(size));
  if (size < 2 * sizeof(std::uint32_t)) return incomplete(contract, "has struct_size " + std::to_string(size));
  Table table{};
  std::memcpy(&table, raw, std::min<std::size_t>(size, sizeof(Table)));
  table.struct_size = sizeof(Table);
  return table;
}

Status check_required(std::string_view contract, std::span<const Slot> slots) {
  for (const auto& slot : slots) {
    if (!slot.there) return incomplete(contract, std::string("lacks the required function '") + slot.name + "'");
  }
  return ok_status();
}

Status check_pair(std::string_view contract, Slot a, Slot b) {
  if (a.there == b.there) return ok_status();
  const Slot& has = a.there ? a : b;
  const Slot& lacks = a.there ? b : a;
  return incomplete(contract, std::string("has '") + has.name + "' but lacks '" + lacks.name + "': a group is whole or absent");
}

#define HARENA_SLOT(table, name) Slot{#name, (table).name != nullptr}

}  // namespace

Result<harena_backend> read_backend(const void* raw) {
  constexpr std::string_view kId = HARENA_BACKEND_CONTRACT;
  HARENA_TRY(auto t, copy_table<harena_backend>(kId, raw));
  const Slot required[] = {HARENA_SLOT(t, describe), HARENA_SLOT(t, probe), HARENA_SLOT(t, create), HARENA_SLOT(t, recover),
                           HARENA_SLOT(t, stop),     HARENA_SLOT(t, sweep), HARENA_SLOT(t, usage)};
  HARENA_TRY_STATUS(check_required(kId, required));
  HARENA_TRY_STATUS(check_pair(kId, HARENA_SLOT(t, pause), HARENA_SLOT(t, resume)));
  HARENA_TRY_STATUS(check_pair(kId, HARENA_SLOT(t, snapshot), HARENA_SLOT(t, restore)));
  if (t.rollback != nullptr && t.snapshot == nullptr) {
    return incomplete(kId, "has 'rollback' but lacks 'snapshot': a group is whole or absent");
  }
  return t;
}

Result<harena_image_store> read_image_store(const void* raw) {
  constexpr std::string_view kId = HARENA_IMAGE_STORE_CONTRACT;
  HARENA_TRY(auto t, copy_table<harena_image_store>(kId, raw));
  const Slot required[] = {HARENA_SLOT(t, put), HARENA_SLOT(t, open),   HARENA_SLOT(t, list),       HARENA_SLOT(t, resolve),
                           HARENA_SLOT(t, tag), HARENA_SLOT(t, remove), HARENA_SLOT(t, list_blobs), HARENA_SLOT(t, check)};
  HARENA_TRY_STATUS(check_required(kId, required));
  return t;
}

Result<harena_state_store> read_state_store(const void* raw) {
  constexpr std::string_view kId = HARENA_STATE_STORE_CONTRACT;
  HARENA_TRY(auto t, copy_table<harena_state_store>(kId, raw));
  const Slot required[] = {HARENA_SLOT(t, get), HARENA_SLOT(t, range), HARENA_SLOT(t, txn), HARENA_SLOT(t, watch)};
  HARENA_TRY_STATUS(check_required(kId, required));
  return t;
}

namespace {

template <class Table>
Status status_of(Result<Table> read) {
  return read.ok() ? ok_status() : Status(std::move(read).error());
}

}  // namespace

Status check_table(std::string_view contract, const void* table) {
  if (contract == HARENA_BACKEND_CONTRACT) return status_of(read_backend(table));
  if (contract == HARENA_IMAGE_STORE_CONTRACT) return status_of(read_image_store(table));
  if (contract == HARENA_STATE_STORE_CONTRACT) return status_of(read_state_store(table));
  return ok_status();
}

std::vector<std::string> optional_verbs(const harena_backend& t) {
  const Slot slots[] = {HARENA_SLOT(t, pause),   HARENA_SLOT(t, resume), HARENA_SLOT(t, snapshot),
                        HARENA_SLOT(t, restore), HARENA_SLOT(t, fork),   HARENA_SLOT(t, rollback)};
  std::vector<std::string> verbs;
  for (const auto& slot : slots) {
    if (slot.there) verbs.emplace_back(slot.name);
  }
  return verbs;
}

}  // namespace harena::loader
