// The local image store with one thing wrong each, chosen at compile time by BAD.

#include <fcntl.h>
#include <unistd.h>

#include "sdk/abi/image_store.h"
#include "sdk/abi/plugin.h"
#include "sdk/cpp/text.hpp"

#define IGNORES_DIGESTS 1
#define CLOSES_DESCRIPTORS 2

extern "C" const harena_plugin_descriptor* harena_plugin_entry_imagestore_local();

namespace {

using harena::plugin::to_abi;
using harena::plugin::to_view;

harena_plugin_descriptor bad_descriptor;
harena_image_store bad_store;

const harena_image_store& good_store(void* self) {
  return *static_cast<const harena_image_store*>(
      harena_plugin_entry_imagestore_local()->get_contract(self, to_abi(HARENA_IMAGE_STORE_CONTRACT)));
}

harena_status put(void* self, const harena_call* call, harena_str expected, int borrow_fd) {
#if BAD == IGNORES_DIGESTS
  return good_store(self).put(self, call, expected.len == 71 ? harena_str{} : expected, borrow_fd);
#else
  auto status = good_store(self).put(self, call, expected, borrow_fd);
  ::close(borrow_fd);
  return status;
#endif
}

const void* get_contract(void* self, harena_str id) {
  if (self == nullptr || to_view(id) != HARENA_IMAGE_STORE_CONTRACT) return nullptr;
  bad_store = good_store(self);
  bad_store.put = &put;
  return &bad_store;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const harena_plugin_descriptor* HARENA_PLUGIN_ENTRY() {
  bad_descriptor = *harena_plugin_entry_imagestore_local();
  bad_descriptor.get_contract = &get_contract;
  return &bad_descriptor;
}
