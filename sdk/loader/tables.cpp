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

Status check_slots(std::string_view contract, std::span<const Slot> slots) {
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

constexpr std::string_view kBackend = HARENA_BACKEND_CONTRACT;
constexpr std::string_view kContainer = HARENA_BACKEND_CONTAINER_CONTRACT;
constexpr std::string_view kImageStore = HARENA_IMAGE_STORE_CONTRACT;
constexpr std::string_view kStateStore = HARENA_STATE_STORE_CONTRACT;
constexpr std::string_view kFrontend = HARENA_FRONTEND_CONTRACT;

Status required_of(const harena_backend& t) {
  const Slot slots[] = {HARENA_SLOT(t, describe), HARENA_SLOT(t, probe), HARENA_SLOT(t, create), HARENA_SLOT(t, recover),
                        HARENA_SLOT(t, stop),     HARENA_SLOT(t, sweep), HARENA_SLOT(t, usage)};
  return check_slots(kBackend, slots);
}

Status required_of(const harena_backend_container& t) {
  const Slot slots[] = {HARENA_SLOT(t, resize)};
  return check_slots(kContainer, slots);
}

Status required_of(const harena_image_store& t) {
  const Slot slots[] = {HARENA_SLOT(t, put), HARENA_SLOT(t, open),   HARENA_SLOT(t, list),       HARENA_SLOT(t, resolve),
                        HARENA_SLOT(t, tag), HARENA_SLOT(t, remove), HARENA_SLOT(t, list_blobs), HARENA_SLOT(t, check)};
  return check_slots(kImageStore, slots);
}

Status required_of(const harena_state_store& t) {
  const Slot slots[] = {HARENA_SLOT(t, get), HARENA_SLOT(t, range), HARENA_SLOT(t, txn), HARENA_SLOT(t, watch)};
  return check_slots(kStateStore, slots);
}

Status required_of(const harena_frontend& t) {
  const Slot slots[] = {HARENA_SLOT(t, start), HARENA_SLOT(t, drain)};
  return check_slots(kFrontend, slots);
}

Status groups_of(const harena_backend& t) {
  HARENA_TRY_STATUS(check_pair(kBackend, HARENA_SLOT(t, pause), HARENA_SLOT(t, resume)));
  HARENA_TRY_STATUS(check_pair(kBackend, HARENA_SLOT(t, snapshot), HARENA_SLOT(t, restore)));
  if (t.rollback == nullptr || t.snapshot != nullptr) return ok_status();
  return incomplete(kBackend, "has 'rollback' but lacks 'snapshot': a group is whole or absent");
}
Status groups_of(const harena_backend_container&) { return ok_status(); }
Status groups_of(const harena_image_store&) { return ok_status(); }
Status groups_of(const harena_state_store&) { return ok_status(); }
Status groups_of(const harena_frontend&) { return ok_status(); }

template <class Table>
Result<Table> read_table(std::string_view contract, const void* raw) {
  HARENA_TRY(auto table, copy_table<Table>(contract, raw));
  HARENA_TRY_STATUS(required_of(table));
  HARENA_TRY_STATUS(groups_of(table));
  return table;
}

// Calls `check` with the table of its contract's type.
template <class Check>
Status with_table(std::string_view contract, const void* raw, Check check) {
  auto apply = [&]<class Table>(std::string_view id, Table*) -> Status {
    HARENA_TRY(auto table, copy_table<Table>(id, raw));
    return check(table);
  };
  if (contract == kBackend) return apply(kBackend, static_cast<harena_backend*>(nullptr));
  if (contract == kContainer) return apply(kContainer, static_cast<harena_backend_container*>(nullptr));
  if (contract == kImageStore) return apply(kImageStore, static_cast<harena_image_store*>(nullptr));
  if (contract == kStateStore) return apply(kStateStore, static_cast<harena_state_store*>(nullptr));
  if (contract == kFrontend) return apply(kFrontend, static_cast<harena_frontend*>(nullptr));
  return ok_status();
}

}  // namespace

Result<harena_backend> read_backend(const void* raw) { return read_table<harena_backend>(kBackend, raw); }
Result<harena_backend_container> read_backend_container(const void* raw) { return read_table<harena_backend_container>(kContainer, raw); }
Result<harena_image_store> read_image_store(const void* raw) { return read_table<harena_image_store>(kImageStore, raw); }
Result<harena_state_store> read_state_store(const void* raw) { return read_table<harena_state_store>(kStateStore, raw); }
Result<harena_frontend> read_frontend(const void* raw) { return read_table<harena_frontend>(kFrontend, raw); }

Status check_required(std::string_view contract, const void* raw) {
  return with_table(contract, raw, [](const auto& table) { return required_of(table); });
}
Status check_groups(std::string_view contract, const void* raw) {
  return with_table(contract, raw, [](const auto& table) { return groups_of(table); });
}
Status check_table(std::string_view contract, const void* raw) {
  HARENA_TRY_STATUS(check_required(contract, raw));
  return check_groups(contract, raw);
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
