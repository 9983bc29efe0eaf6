#include "plugins/fake/fake_backend.hpp"

HARENA_PLUGIN(harena::fake::FakeBackend)
