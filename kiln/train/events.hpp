// The events of training, as data: the Learner sends them, and callbacks receive them. A callback is a plain struct
// with an on() for each kind of event that it needs:
//
//   struct Printer {
//     void on(const training::Step& step) { print("step {}: {}\n", step.at.step, step.loss); }
//     void on(const training::Evaluation& e, Interrupter& control) { if (...) control.stop("good enough"); }
//     void on(const training::Saved& saved, const Model& model) { ... }
//   };
//
// If it has a field `state`, a plain struct, checkpoints save it; and also a field `seen`, for history that resuming
// can do without.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/ops/device.hpp"
#include "kiln/train/figure/figure.hpp"
#include "kiln/train/interrupter.hpp"

namespace kiln {

/// A number with a name, or words, which a metric may say instead: the value is then NaN. If it could not be measured,
/// `problem` says why and the value is NaN. A metric with a matrix(), such as ConfusionMatrix, gives it beside its number.
struct Reading {
  std::string name;
  double value = 0;
  std::string problem = {};
  std::optional<std::string> words = {};
  std::optional<Matrix> matrix = {};
};

namespace training {

/// The progress of training, as what comes next. A step is an update of the model, from one batch or several.
struct Position {
  std::int64_t epoch = 0;  // epoch of the next batch, counted from 0
  std::int64_t batch = 0;  // the next one of the epoch
  std::int64_t step = 0;   // completed steps
  std::int64_t items = 0;  // items learned from
  double seconds = 0;      // duration of training, including earlier processes
};

/// The metrics that evaluations of a split will have.
struct Measured {
  std::string split;
  std::vector<std::string> metrics;
  std::vector<std::string> texts = {};  // those whose values are words
};
struct Begin {
  Position at{};
  std::int64_t batches = 0;                       // per epoch
  std::optional<std::int64_t> epochs{}, steps{};  // limits
  std::int64_t parameters = 0;
  Interrupter control{};
  std::vector<Device> devices{};     // where the model is
  std::vector<Measured> measured{};  // what a Learner will measure; empty if unknown
  std::optional<double> seconds{};   // the time limit, over all processes
};
struct Step {
  Position at{};  // after the step
  double loss = 0;
  std::vector<double> rates{};  // learning rates of the optimizer's groups
  std::int64_t items = 0;       // in this step
  double seconds = 0;           // duration of the step
};
/// The display name of a group's rate: "rate", "rate of group 1", ...
std::string rate_name(std::size_t group);
/// Metrics of the training data, so far in the epoch or over all of it (`complete`), or of another data set.
struct Evaluation {
  Position at{};
  std::string split;  // "train", "valid", or the name of a test set
  std::vector<Reading> readings{};
  bool complete = true;

  /// Null if there is no such metric.
  const Reading* find(std::string_view name) const;
  /// Throws ArgumentError, which names `who`, if there is no such metric.
  const Reading& reading(std::string_view who, std::string_view name) const;
  /// The value of a metric that is a number; NaN if it was not measured. Throws as reading(), and if its value is words.
  double number(std::string_view who, std::string_view name) const;
};
/// Throws ArgumentError, which names `who`, if it is known that this metric will not be measured, or that its values are
/// words.
void require_measured(std::string_view who, const Begin& begin, std::string_view split, std::string_view metric);
/// The end of an epoch, after its evaluations.
struct EpochEnd {
  Position at{};
};
/// The values of a parameter, "weights/conv1.bias", or of its gradient, "gradients/conv1.bias"; see
/// Learner::histograms().
struct Distribution {
  Position at{};
  std::string name;
  Histogram histogram{};
};
/// What a function draws of the model; see Learner::pictures().
struct Drawing {
  Position at{};
  std::string name;
  PngPicture picture{};
};
struct Saved {
  Position at{};
  std::string path;
};
struct Message {
  std::string text;  // a message for the user
};
struct RunEnd {
  Position at{};
  std::string reason;
};

using Note [[deprecated("training::Note is now Message")]] = Message;
using Ending [[deprecated("training::Ending is now RunEnd")]] = RunEnd;

using Event = std::variant<Begin, Step, Evaluation, EpochEnd, Saved, Message, RunEnd, Distribution, Drawing>;

/// Does the callback receive such events, alone or with the interrupter?
template <class Callback, class E>
inline constexpr bool kReceives = requires(Callback& c, const E& e) { c.on(e); } ||
                                  requires(Callback& c, const E& e, Interrupter& control) { c.on(e, control); };
/// Does it receive them only with the model?
template <class Callback, class E, class M>
inline constexpr bool kReceivesWith =
    !kReceives<Callback, E> && requires(Callback& c, const E& e, const M& model) { c.on(e, model); };

/// Is it a callback for any of these events without a model? receives_any_with() is for callbacks with this model.
template <class Callback, class... E>
constexpr bool receives_any(const std::variant<E...>*) {
  return (kReceives<Callback, E> || ...);
}
template <class Callback, class M, class... E>
constexpr bool receives_any_with(const std::variant<E...>*) {
  return (kReceivesWith<Callback, E, M> || ...);
}
template <class Callback> inline constexpr bool kIsCallback =
    receives_any<Callback>(static_cast<const Event*>(nullptr));
template <class Callback, class M>
inline constexpr bool kIsCallbackWith = receives_any_with<Callback, M>(static_cast<const Event*>(nullptr));

/// Calls callback.on(event) if there is one, with the interrupter if it takes that.
template <class Callback, class... E>
void notify(Callback& callback, const std::variant<E...>& event, Interrupter& control) {
  const auto notify_of = [&]<class T>(const T* e) {
    if constexpr (requires { callback.on(*e); }) {
      if (e) callback.on(*e);
    } else if constexpr (kReceives<Callback, T>) {
      if (e) callback.on(*e, control);
    }
  };
  (notify_of(std::get_if<E>(&event)), ...);
}
/// Calls callbacks that take the model.
template <class Callback, class M, class... E>
void notify_with(Callback& callback, const std::variant<E...>& event, const M& model) {
  const auto notify_of = [&]<class T>(const T* e) {
    if constexpr (kReceivesWith<Callback, T, M>) {
      if (e) callback.on(*e, model);
    }
  };
  (notify_of(std::get_if<E>(&event)), ...);
}

}  // namespace training
}  // namespace kiln
