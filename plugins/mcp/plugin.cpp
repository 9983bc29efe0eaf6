#include "plugins/mcp/frontend.hpp"

HARENA_PLUGIN(harena::mcp::McpFrontend)
