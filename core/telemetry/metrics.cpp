#include "core/telemetry/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <stdexcept>

namespace harena {
namespace {

constexpr std::string_view kOther = "other";

void add_to(std::atomic<double>& value, double by) {
  auto before = value.load(std::memory_order_relaxed);
  while (!value.compare_exchange_weak(before, before + by, std::memory_order_relaxed)) {
  }
}

bool is_name(std::string_view name) {
  const auto good = [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || (c >= '0' && c <= '9'); };
  return !name.empty() && !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), good);
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

void append_escaped(std::string& out, std::string_view text, bool in_quotes) {
  for (const char c : text) {
    if (c == '\\') out += "\\\\";
    else if (c == '\n') out += "\\n";
    else if (c == '"' && in_quotes) out += "\\\"";
    else out += c;
  }
}

void append_head(std::string& out, const std::string& name, const std::string& help, std::string_view type) {
  out += "# HELP " + name + ' ';
  append_escaped(out, help, false);
  out += "\n# TYPE " + name + ' ';
  out += type;
  out += '\n';
}

using Strings = std::vector<std::string>;

// {a="1",b="2"}, with `le` last for the buckets of histograms.
std::string label_set(const Strings& names, const Strings& values, std::string_view le = {}) {
  std::string out;
  for (std::size_t i = 0; i < names.size(); ++i) {
    out += out.empty() ? "{" : ",";
    out += names[i] + "=\"";
    append_escaped(out, values[i], true);
    out += '"';
  }
  if (!le.empty()) out.append(out.empty() ? "{" : ",").append("le=\"").append(le).append("\"");
  if (!out.empty()) out += '}';
  return out;
}

void append_sample(std::string& out, const std::string& name, const std::string& labels, const std::string& value) {
  out += name + labels + ' ' + value + '\n';
}

constexpr std::string_view type_of(const Counter*) { return "counter"; }
constexpr std::string_view type_of(const Gauge*) { return "gauge"; }
constexpr std::string_view type_of(const Histogram*) { return "histogram"; }

void append_series(std::string& out, const std::string& name, const Strings& labels, const Strings& values, const Counter& metric) {
  append_sample(out, name, label_set(labels, values), std::to_string(metric.value()));
}

void append_series(std::string& out, const std::string& name, const Strings& labels, const Strings& values, const Gauge& metric) {
  append_sample(out, name, label_set(labels, values), number(metric.value()));
}

void append_series(std::string& out, const std::string& name, const Strings& labels, const Strings& values, const Histogram& metric) {
  const auto counts = metric.counts();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const auto bound = i < metric.bounds().size() ? number(metric.bounds()[i]) : "+Inf";
    append_sample(out, name + "_bucket", label_set(labels, values, bound), std::to_string(total));
  }
  append_sample(out, name + "_sum", label_set(labels, values), number(metric.sum()));
  append_sample(out, name + "_count", label_set(labels, values), std::to_string(total));
}

class Computed final : public detail::FamilyBase {
 public:
  Computed(std::string name, std::string help, std::string type, std::function<double()> value)
      : name_(std::move(name)), help_(std::move(help)), type_(std::move(type)), value_(std::move(value)) {}
  void render(std::string& out) const override {
    append_head(out, name_, help_, type_);
    append_sample(out, name_, "", number(value_()));
  }

 private:
  std::string name_, help_, type_;
  std::function<double()> value_;
};

}  // namespace

void Gauge::add(double by) { add_to(value_, by); }

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  counts_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  add_to(sum_, value);
}

std::vector<std::uint64_t> Histogram::counts() const {
  std::vector<std::uint64_t> copy;
  for (const auto& count : counts_) copy.push_back(count.load(std::memory_order_relaxed));
  return copy;
}

std::vector<double> duration_bounds() {
  return {1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100};
}

template <class Metric>
Family<Metric>::Family(std::string name, std::string help, std::vector<std::string> labels,
                       std::function<std::unique_ptr<Metric>()> make)
    : name_(std::move(name)), help_(std::move(help)), labels_(std::move(labels)), make_(std::move(make)) {}

template <class Metric>
Metric& Family<Metric>::with(std::initializer_list<std::string_view> values) {
  if (values.size() != labels_.size()) throw std::logic_error("metric " + name_ + ": wrong number of label values");
  Strings key(values.begin(), values.end());
  {
    std::shared_lock lock(mutex_);
    if (const auto found = series_.find(key); found != series_.end()) return *found->second;
  }
  std::unique_lock lock(mutex_);
  if (series_.size() >= kMaxSeries && series_.count(key) == 0) key.assign(key.size(), std::string(kOther));
  auto& series = series_[std::move(key)];
  if (!series) series = make_();
  return *series;
}

template <class Metric>
void Family<Metric>::render(std::string& out) const {
  append_head(out, name_, help_, type_of(static_cast<const Metric*>(nullptr)));
  std::shared_lock lock(mutex_);
  for (const auto& [values, metric] : series_) append_series(out, name_, labels_, values, *metric);
}

template class Family<Counter>;
template class Family<Gauge>;
template class Family<Histogram>;

template <class Metric>
Family<Metric>& MetricsRegistry::get(const std::string& name, const std::string& help, const Labels& labels,
                                     std::function<std::unique_ptr<Metric>()> make) {
  if (!is_name(name) || !std::all_of(labels.begin(), labels.end(), is_name)) {
    throw std::logic_error("metric " + name + ": bad name or label");
  }
  std::lock_guard lock(mutex_);
  auto& slot = families_[name];
  if (!slot) slot = std::make_unique<Family<Metric>>(name, help, labels, std::move(make));
  auto* const family = dynamic_cast<Family<Metric>*>(slot.get());
  if (family == nullptr || family->labels() != labels) {
    throw std::logic_error("metric " + name + ": registered with another kind or other labels");
  }
  return *family;
}

Family<Counter>& MetricsRegistry::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return get<Counter>(name, help, labels, [] { return std::make_unique<Counter>(); });
}

Family<Gauge>& MetricsRegistry::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return get<Gauge>(name, help, labels, [] { return std::make_unique<Gauge>(); });
}

Family<Histogram>& MetricsRegistry::histogram(const std::string& name, const std::string& help, const Labels& labels,
                                              std::vector<double> bounds) {
  return get<Histogram>(name, help, labels, [bounds = std::move(bounds)] { return std::make_unique<Histogram>(bounds); });
}

void MetricsRegistry::computed(const std::string& name, const std::string& help, const std::string& type,
                               std::function<double()> value) {
  if (!is_name(name)) throw std::logic_error("metric " + name + ": bad name");
  std::lock_guard lock(mutex_);
  families_[name] = std::make_unique<Computed>(name, help, type, std::move(value));
}

void MetricsRegistry::collected(std::function<std::vector<CollectedSample>()> samples) {
  std::lock_guard lock(mutex_);
  collectors_.push_back(std::move(samples));
}

namespace {

void render_samples(const std::vector<CollectedSample>& samples, std::string& out) {
  const CollectedSample* last = nullptr;
  for (const auto& sample : samples) {
    if (last == nullptr || last->name != sample.name) append_head(out, sample.name, sample.help, sample.type);
    last = &sample;
    Strings names, values;
    for (const auto& [name, value] : sample.labels) {
      names.push_back(name);
      values.push_back(value);
    }
    out += sample.name + label_set(names, values) + ' ' + number(sample.value) + '\n';
  }
}

}  // namespace

std::string MetricsRegistry::render() const {
  std::string out;
  std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) family->render(out);
  for (const auto& collector : collectors_) render_samples(collector(), out);
  return out;
}

}  // namespace harena
