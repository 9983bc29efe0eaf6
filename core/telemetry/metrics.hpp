#pragma once
// Metrics: counters, gauges and histograms with labels, rendered in Prometheus' text format 0.0.4.
//
//   auto& created = registry.counter("harena_sandboxes_created_total", "Sandboxes created.", {"backend"});
//   auto& containers = created.with({"container"});   // keep the reference where it is hot
//   containers.add();

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harena {

/// Only goes up. Thread-safe, one relaxed atomic.
class Counter {
 public:
  void add(std::uint64_t by = 1) { value_.fetch_add(by, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

/// Goes up and down. Thread-safe.
class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  void add(double by);
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_{0};
};

/// Counts observations in buckets. Thread-safe, no lock; a scrape in the middle of an observation may be one off.
class Histogram {
 public:
  /// Upper bounds, ascending.
  explicit Histogram(std::vector<double> bounds);
  void observe(double value);
  const std::vector<double>& bounds() const { return bounds_; }
  /// Not cumulative; the last is over all bounds.
  std::vector<std::uint64_t> counts() const;
  double sum() const { return sum_.load(std::memory_order_relaxed); }

 private:
  std::vector<double> bounds_;
  std::vector<std::atomic<std::uint64_t>> counts_;
  std::atomic<double> sum_{0};
};

/// From 100 us to 100 s, three a decade: for durations in seconds.
std::vector<double> duration_bounds();

namespace detail {
class FamilyBase {
 public:
  virtual ~FamilyBase() = default;
  virtual void render(std::string& out) const = 0;
};
}  // namespace detail

/// All series of one name. Thread-safe; series live as long as the registry.
template <class Metric>
class Family final : public detail::FamilyBase {
 public:
  Family(std::string name, std::string help, std::vector<std::string> labels, std::function<std::unique_ptr<Metric>()> make);

  /// The series with these values, in the order of the labels. Beyond kMaxSeries all new ones share the series whose
  /// values are "other": what a client sends can't fill the memory. std::logic_error for another number of values.
  Metric& with(std::initializer_list<std::string_view> values);
  /// Of a family without labels.
  Metric& only() { return with({}); }
  const std::vector<std::string>& labels() const { return labels_; }
  void render(std::string& out) const override;

  static constexpr std::size_t kMaxSeries = 1000;

 private:
  std::string name_;
  std::string help_;
  std::vector<std::string> labels_;
  std::function<std::unique_ptr<Metric>()> make_;
  mutable std::shared_mutex mutex_;
  std::map<std::vector<std::string>, std::unique_ptr<Metric>> series_;
};

extern template class Family<Counter>;
extern template class Family<Gauge>;
extern template class Family<Histogram>;

/// One value of a metric that somebody else counts.
struct CollectedSample {
  std::string name;
  std::string help;
  std::string type;  ///< "counter" or "gauge"
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;
};

/// Thread-safe. Asking for a name again gives the same family; std::logic_error if its kind or labels differ or a name
/// isn't [a-z_][a-z0-9_]* (a mistake in the program, never input).
class MetricsRegistry {
 public:
  using Labels = std::vector<std::string>;
  Family<Counter>& counter(const std::string& name, const std::string& help, const Labels& labels = {});
  Family<Gauge>& gauge(const std::string& name, const std::string& help, const Labels& labels = {});
  Family<Histogram>& histogram(const std::string& name, const std::string& help, const Labels& labels = {},
                               std::vector<double> bounds = duration_bounds());
  /// Computed at each scrape, on an I/O thread: must not block. `type` is "gauge" or "counter".
  void computed(const std::string& name, const std::string& help, const std::string& type, std::function<double()> value);

  /// Asked at each scrape, like computed(); samples of one name follow each other. Their names must be nobody else's.
  void collected(std::function<std::vector<CollectedSample>()> samples);

  /// Sorted by name, what is collected behind it.
  std::string render() const;

 private:
  template <class Metric>
  Family<Metric>& get(const std::string& name, const std::string& help, const Labels& labels,
                      std::function<std::unique_ptr<Metric>()> make);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<detail::FamilyBase>> families_;
  std::vector<std::function<std::vector<CollectedSample>()>> collectors_;
};

}  // namespace harena
