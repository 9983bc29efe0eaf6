#include "plugins/statestore-sqlite/sqlite_store.hpp"

HARENA_PLUGIN(harena::sqlite::SqliteStore)
