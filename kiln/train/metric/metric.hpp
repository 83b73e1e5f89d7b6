// A metric is a plain struct: options, fields that are states (state.hpp), an update() for one batch, and a value()
// over all that it has seen; if it measures time, also a begin() before the first batch. Reflection finds the states,
// so that any metric can be merged with one of other data, reset, and saved with a checkpoint:
//
//   struct Bias {                                       // a custom metric
//     metric::Total off, count;
//     void update(const Tensor<1>& predictions, const Tensor<1>& targets) {
//       off += (predictions - targets).sum().item();
//       count += static_cast<double>(targets.numel());
//     }
//     double value() const { return metric::mean("bias", off, count); }
//   };
//
// A value() may also return a std::string: words that logs write and displays show.
#pragma once
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/train/metric/state.hpp"

namespace kiln {

/// A metric whose values are words, such as a sample of what a model writes.
template <class M>
concept TextMetric = reflect::Aggregate<M> && std::copyable<M> && requires(const M& metric) {
  { metric.value() } -> std::convertible_to<std::string>;
};
template <class M>
concept Metric = TextMetric<M> || (reflect::Aggregate<M> && std::copyable<M> && requires(const M& metric) {
                   { metric.value() } -> std::convertible_to<double>;
                 });

namespace metric {

/// A mean; throws ArgumentError if count is 0: "accuracy: nothing was measured".
double mean(std::string_view name, double sum, double count);

/// "mean_absolute_error" for MeanAbsoluteError.
std::string name_from(std::string_view type);
template <class M>
std::string name_of() {
  if constexpr (requires { M::kName; }) return std::string(M::kName);
  else return name_from(reflect::type_name<M>());
}

/// Calls f(state, other's state) for each state of two metrics of the same kind.
template <class M, class Other, class F>
void for_each_state(M& metric, Other& other, F&& f) {
  reflect::detail::for_each_index<reflect::field_count<M>>([&](auto i) {
    auto& field = std::get<i>(reflect::fields(metric));
    auto& others = std::get<i>(reflect::fields(other));
    using Field = std::remove_cvref_t<decltype(field)>;
    if constexpr (State<Field>) f(field, others);
    else if constexpr (reflect::Aggregate<Field>) for_each_state(field, others, f);
  });
}

template <class M>
constexpr bool has_state() {
  if constexpr (State<M>) return true;
  else if constexpr (reflect::Aggregate<M>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (has_state<reflect::FieldType<M, I>>() || ...);
    }(std::make_index_sequence<reflect::field_count<M>>());
  else return false;
}
template <class M> inline constexpr bool kHasState = has_state<M>();

/// Adds the states of another metric, of other data and with the same options.
template <Metric M>
void merge(M& metric, const M& other) {
  for_each_state(metric, other, [](auto& state, const auto& more) { state.merge(more); });
}

/// A metric with the same options and empty states.
template <Metric M>
[[nodiscard("fresh() changes no metric: it returns one")]] M fresh(M metric) {
  for_each_state(metric, metric, []<class S>(S& state, const S&) { state = S{}; });
  return metric;
}

}  // namespace metric
}  // namespace kiln
