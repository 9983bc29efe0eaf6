#include "sdk/json/pch.hpp"

#define HARENA_JSON_INSTANCE template
#include "sdk/json/instances.hpp"
