#include "plugins/e2b/frontend.hpp"

HARENA_PLUGIN(harena::e2b::E2bFrontend)
