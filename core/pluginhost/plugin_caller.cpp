#include "core/pluginhost/plugin_caller.hpp"

#include <exception>

#include "sdk/base/text.hpp"

namespace harena {

using nlohmann::json;

namespace {

constexpr std::size_t kMaxMessageBytes = 8 * 1024;

/// No exception of ours may pass through the plugin's frames; it is thrown again once the call is back.
class Fence {
 public:
  template <class Function>
  bool run(Function function) noexcept {
    try {
      return function();
    } catch (...) {
      caught_ = std::current_exception();
      return false;
    }
  }
  void rethrow() const {
    if (caught_) std::rethrow_exception(caught_);
  }

 private:
  std::exception_ptr caught_;
};

loader::CallOptions options_of(const CallContext& context, Fence& fence) {
  loader::CallOptions options;
  options.deadline_ns = context.deadline_ns;
  options.trace_id = context.trace_id;
  options.principal = context.principal;
  if (context.cancel) options.cancelled = [&context] { return context.cancelled(); };
  if (context.progress) {
    options.on_progress = [&](std::string_view text) {
      fence.run([&] {
        const auto document = json::parse(text, nullptr, false);
        if (document.is_object()) context.progress(document);
        return true;
      });
    };
  }
  return options;
}

Error cleaned(Error error) {
  error.message = clean_text(error.message, kMaxMessageBytes);
  error.cause_detail = clean_text(error.cause_detail, 128);
  return error;
}

}  // namespace

std::string clean_text(std::string_view text, std::size_t most) {
  std::string clean(text.substr(0, most));
  while (clean.size() < text.size() && !clean.empty() && (clean.back() & 0xC0) == 0x80) clean.pop_back();
  if (is_utf8(clean)) return clean;
  // nlohmann's writer knows how to replace; its quotes and escapes are undone by its reader.
  return json::parse(json(clean).dump(-1, ' ', false, json::error_handler_t::replace)).get<std::string>();
}

Error PluginCaller::broken(std::string_view verb, const std::string& what) const {
  return infrastructure_error(ErrorCode::internal, "plugin",
                              "plugin '" + plugin_id() + "' broke its contract in " + std::string(verb) + ": it " + what);
}

Result<json> PluginCaller::call(const CallContext& context, std::string_view verb, const Function& function,
                                OnItem on_item, std::uint32_t flags) const {
  Fence fence;
  bool unexpected_item = false;
  auto options = options_of(context, fence);
  options.flags = flags;
  options.on_item = [&](const loader::Item& item) {
    if (on_item) return fence.run([&] { return on_item(item); });
    unexpected_item = true;
    return false;
  };
  loader::Invocation invocation(std::move(options));
  const harena_status status = function(instance_->self(), invocation.record());
  auto outcome = invocation.finish(status);
  fence.rethrow();
  if (unexpected_item) return broken(verb, "gave an item, which this function has none of");
  if (!outcome) return cleaned(std::move(outcome).error()).during("plugin '" + plugin_id() + "', " + std::string(verb));
  if (outcome->size() > kMaxResultBytes) {
    return broken(verb, "gave a result of " + std::to_string(outcome->size()) + " bytes; at most " +
                            std::to_string(kMaxResultBytes) + " are right");
  }
  if (outcome->empty()) return json::object();
  auto document = json::parse(*outcome, nullptr, false);
  // fork alone answers a list: one entry a child.
  if (document.is_object() || (verb == "fork" && document.is_array())) return document;
  return broken(verb, "gave a result that is no JSON object: " + clean_text(*outcome, 200));
}

ResultReader::ResultReader(const PluginCaller& caller, std::string_view verb, const json& document)
    : caller_(caller), verb_(verb), document_(document) {}

const json* ResultReader::find(const char* key) const {
  const auto it = document_.find(key);
  return it == document_.end() || it->is_null() ? nullptr : &*it;
}

void ResultReader::require(bool right, const std::string& what) {
  if (!right && problem_.empty()) problem_ = what;
}

void ResultReader::wrong(const char* key, const char* right) {
  const json* value = find(key);
  const std::string shown = value ? clean_text(value->dump(), 80) : "absent";
  require(false, std::string("gave a result whose '") + key + "' is " + shown + "; " + right + " is right");
}

std::string ResultReader::string(const char* key) {
  const json* value = find(key);
  if (value && value->is_string()) return value->get<std::string>();
  wrong(key, "a string");
  return {};
}

std::string ResultReader::string_or(const char* key, std::string fallback) {
  return find(key) ? string(key) : fallback;
}

std::int64_t ResultReader::integer(const char* key, std::int64_t least) {
  const json* value = find(key);
  const bool fits = value && value->is_number_integer() &&
                    !(value->is_number_unsigned() && value->get<std::uint64_t>() > INT64_MAX);
  if (fits && value->get<std::int64_t>() >= least) return value->get<std::int64_t>();
  wrong(key, ("a whole number of at least " + std::to_string(least)).c_str());
  return least;
}

bool ResultReader::boolean(const char* key) {
  const json* value = find(key);
  if (value && value->is_boolean()) return value->get<bool>();
  wrong(key, "true or false");
  return false;
}

bool ResultReader::boolean_or(const char* key, bool fallback) { return find(key) ? boolean(key) : fallback; }

json ResultReader::object(const char* key) {
  const json* value = find(key);
  if (!value) return json::object();
  if (value->is_object()) return *value;
  wrong(key, "an object");
  return json::object();
}

std::vector<std::string> ResultReader::strings(const char* key) {
  std::vector<std::string> found;
  const json* value = find(key);
  if (!value) return found;
  if (!value->is_array()) wrong(key, "an array of strings");
  for (const auto& element : *value) {
    if (!element.is_string()) {
      wrong(key, "an array of strings");
      return {};
    }
    found.push_back(element.get<std::string>());
  }
  return found;
}

std::optional<Error> ResultReader::error() const {
  if (problem_.empty()) return std::nullopt;
  return caller_.broken(verb_, problem_);
}

}  // namespace harena
