// Level 1: making and destroying instances.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "sdk/conformance/case.hpp"
#include "sdk/conformance/process_facts.hpp"

namespace harena::conformance {
namespace {

constexpr int kWarmUp = 10;
constexpr int kRounds = 100;
// The allocator counts what its per-thread caches hold as in use, which grows ever slower until they are full: a leak is
// what grows in every one of many windows, by at least 20 bytes an instance.
constexpr int kWindows = 20;
constexpr std::size_t kHeapSlack = 20 * kRounds;

// An instance without the loader's checks of its functions, which are cases here.
struct RawInstance {
  explicit RawInstance(Context& c) : d(c.library().descriptor()) {
    json config = c.need(c.library().config_schema().apply(c.config(), "config"), "the configuration given with --config");
    loader::Invocation call;
    c.need(call.finish(d.create(call.record(), c.host().host(), loader::to_abi(config.dump()), &self)), "create");
  }
  ~RawInstance() { d.destroy(self); }
  const harena_plugin_descriptor& d;
  void* self = nullptr;
};

void makes_an_instance(Context& c) { RawInstance instance(c); }

template <class Check>
void check_tables(Context& c, Check check) {
  RawInstance instance(c);
  for (const auto& contract : c.library().contracts()) {
    c.need_ok(check(contract, instance.d.get_contract(instance.self, loader::to_abi(contract))), "its functions");
  }
}

void required_functions(Context& c) { check_tables(c, loader::check_required); }
void whole_groups(Context& c) { check_tables(c, loader::check_groups); }

void unknown_contract_is_null(Context& c) {
  RawInstance instance(c);
  for (const char* id : {"harena.nonsense/1", "harena.backend/999", ""}) {
    c.require(instance.d.get_contract(instance.self, loader::to_abi(id)) == nullptr, std::string("get_contract('") + id + "') isn't null");
  }
}

void destroy_takes_null(Context& c) { c.library().descriptor().destroy(nullptr); }

void create_destroy_growth(Context& c) {
  for (int i = 0; i < kWarmUp; ++i) RawInstance instance(c);
  auto threads = thread_count();
  auto descriptors = open_descriptors().size();
  std::size_t least = SIZE_MAX;
  for (int window = 0; window < kWindows && least > kHeapSlack; ++window) {
    auto heap = heap_bytes();
    for (int i = 0; i < kRounds; ++i) RawInstance instance(c);
    auto now = heap_bytes();
    least = std::min(least, now > heap ? now - heap : 0);
  }
  c.require(thread_count() <= threads, std::to_string(thread_count() - threads) + " threads outlive destroy");
  c.require(open_descriptors().size() <= descriptors, std::to_string(open_descriptors().size() - descriptors) + " descriptors outlive destroy");
  c.require(least <= kHeapSlack, "create and destroy keep about " + std::to_string(least / kRounds) + " bytes each time");
}

// A copy of a struct that ends where the process's memory ends: reading beyond it is a crash.
class AtPageEnd {
 public:
  AtPageEnd(const void* bytes, std::size_t size) {
    std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* base = static_cast<char*>(::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(base + page, page, PROT_NONE);
    at_ = base + page - size;
    std::memcpy(at_, bytes, size);
  }
  template <class T>
  T* as() const { return reinterpret_cast<T*>(at_); }

 private:
  char* at_;
};

// Uses an instance made with these structs a little: what an author forgets to guard is read then.
void use_with(Context& c, const harena_host* host, const harena_sink* sink, std::uint32_t call_size) {
  loader::Invocation invocation;
  alignas(16) char room[sizeof(harena_call) + 64];
  std::memset(room, 0xa5, sizeof(room));  // what a newer host would have there
  std::memcpy(room, invocation.record(), sizeof(harena_call));
  auto* call = reinterpret_cast<harena_call*>(room);
  call->struct_size = call_size;
  if (sink != nullptr) call->sink = sink;
  const auto& d = c.library().descriptor();
  json config = c.need(c.library().config_schema().apply(c.config(), "config"), "the configuration given with --config");
  void* self = nullptr;
  auto status = d.create(call, host, loader::to_abi(config.dump()), &self);
  c.require(status == HARENA_OK, "create failed with status " + std::to_string(status));
  if (const auto* table = static_cast<const harena_backend*>(d.get_contract(self, loader::to_abi(HARENA_BACKEND_CONTRACT)))) {
    c.require(table->probe(self, call) == HARENA_OK, "probe failed");
  }
  d.destroy(self);
}

void older_host(Context& c) {
  // The optional ends: a host without services, a sink without progress.
  harena_host host = *c.host().host();
  host.struct_size = offsetof(harena_host, get_service);
  harena_sink sink = *loader::Invocation().record()->sink;
  sink.struct_size = offsetof(harena_sink, progress);
  loader::Invocation live;
  sink.context = const_cast<void*>(live.record()->sink->context);
  AtPageEnd short_host(&host, host.struct_size), short_sink(&sink, sink.struct_size);
  use_with(c, short_host.as<harena_host>(), short_sink.as<harena_sink>(), sizeof(harena_call));
}

void newer_host(Context& c) {
  struct {
    harena_host host;
    char more[64];
  } longer{*c.host().host(), {}};
  std::memset(longer.more, 0xa5, sizeof(longer.more));
  longer.host.struct_size = sizeof(longer);
  use_with(c, &longer.host, nullptr, sizeof(harena_call) + 64);
}

void instances_are_apart(Context& c) {
  RawInstance first(c);
  json other = c.config();
  c.require(first.self != nullptr || c.library().descriptor().get_contract(nullptr, {}) == nullptr, "the instance is null");
  for (const auto& contract : c.library().contracts()) {
    const void* table = first.d.get_contract(first.self, loader::to_abi(contract));
    c.require(table == first.d.get_contract(first.self, loader::to_abi(contract)), "get_contract gives another struct each time");
  }
}

}  // namespace

std::vector<Case> instance_cases() {
  return {
      {"makes_an_instance", 1, "", "create succeeds with the configuration given", makes_an_instance},
      {"required_functions", 1, "", "each contract's required functions are there", required_functions},
      {"whole_groups", 1, "", "optional functions that belong together are all there or all absent", whole_groups},
      {"unknown_contract_is_null", 1, "", "get_contract is null for contracts that the plugin doesn't have", unknown_contract_is_null},
      {"contract_is_stable", 1, "", "get_contract gives the same struct for the life of an instance", instances_are_apart},
      {"destroy_takes_null", 1, "", "destroy(null) does nothing", destroy_takes_null},
      {"create_destroy_growth", 1, "", "create and destroy, 100 times and again, keep no memory, thread or descriptor", create_destroy_growth, 120},
      {"older_host", 1, "", "structs of an older, shorter host aren't read beyond their struct_size", older_host},
      {"newer_host", 1, "", "longer structs of a newer host are accepted", newer_host},
  };
}

}  // namespace harena::conformance
