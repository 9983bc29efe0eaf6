/* The headers are C11 and stand alone: this file only has to compile with -pedantic, each header first once. */
#include "sdk/abi/backend.h"
#include "sdk/abi/backend_container.h"
#include "sdk/abi/frontend.h"
#include "sdk/abi/image_store.h"
#include "sdk/abi/plugin.h"
#include "sdk/abi/state_store.h"

int harena_abi_is_c11(void);
int harena_abi_is_c11(void) { return HARENA_ABI_MAJOR; }
