// Read twice by instances.cpp, so no `#pragma once`: HARENA_JSON_INSTANCE is `extern template`, and there `template`.

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#ifndef HARENA_JSON_INSTANCE
#define HARENA_JSON_INSTANCE extern template
#endif

HARENA_JSON_INSTANCE class nlohmann::basic_json<>;
HARENA_JSON_INSTANCE class nlohmann::detail::serializer<nlohmann::json>;
// What parse() reads from: a char range, a std::string, a std::string_view.
HARENA_JSON_INSTANCE class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<const char*>>;
HARENA_JSON_INSTANCE class nlohmann::detail::parser<
    nlohmann::json, nlohmann::detail::iterator_input_adapter<std::string::const_iterator>>;
#undef HARENA_JSON_INSTANCE
