// What happens in a training, as data: the Learner says it, and callbacks listen. A callback is a plain struct with an
// on() for each kind of event that it wants:
//
//   struct Printer {
//     void on(const training::Step& step) { print("step {}: {}\n", step.at.step, step.loss); }
//     void on(const training::Evaluation& e, Interrupter& control) { if (...) control.stop("good enough"); }
//     void on(const training::Saved& saved, const Model& model) { ... }
//   };
//
// Where it has a field `state`, a plain struct, checkpoints keep it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "kiln/train/interrupter.hpp"

namespace kiln {

/// A number by name. Where there is none, because nothing was measured, say, `problem` says why and the value is NaN.
struct Reading {
  std::string name;
  double value = 0;
  std::string problem = {};
};

namespace training {

/// How far a training is: what comes next. A step is an update of the model, of one batch or of several.
struct Position {
  std::int64_t epoch = 0;  // of the next batch, from 0
  std::int64_t batch = 0;  // the next one of the epoch
  std::int64_t step = 0;   // steps done
  std::int64_t items = 0;  // items learned from
  double seconds = 0;      // spent, also by processes before this one
};

struct Begin {
  Position at{};
  std::int64_t batches = 0;                       // of an epoch
  std::optional<std::int64_t> epochs{}, steps{};  // how far it shall go
  std::int64_t parameters = 0;
  Interrupter control{};
};
struct Step {
  Position at{};  // after it
  double loss = 0;
  std::vector<double> rates{};  // of the optimizer's groups
  std::int64_t items = 0;       // of this step
  double seconds = 0;           // that it took
};
/// Metrics of the training data, so far in the epoch or of all of it (`complete`), or of a data set that is not trained on.
struct Evaluation {
  Position at{};
  std::string split;  // "train", "valid", or the name of a test set
  std::vector<Reading> readings{};
  bool complete = true;

  /// Null where there is no such metric.
  const Reading* find(std::string_view name) const;
};
/// The end of an epoch, after its evaluations.
struct EpochEnd {
  Position at{};
};
struct Saved {
  Position at{};
  std::string path;
};
struct Note {
  std::string text;  // something to be told to who watches
};
struct Ending {
  Position at{};
  std::string reason;
};

using Event = std::variant<Begin, Step, Evaluation, EpochEnd, Saved, Note, Ending>;

/// Calls callback.on(event) where there is one, with the model or the interrupter if it takes these.
template <class Callback, class M>
void tell(Callback& callback, const Event& event, const M& model, Interrupter& control) {
  std::visit(
      [&](const auto& e) {
        if constexpr (requires { callback.on(e); }) callback.on(e);
        else if constexpr (requires { callback.on(e, control); }) callback.on(e, control);
        else if constexpr (requires { callback.on(e, model); }) callback.on(e, model);
      },
      event);
}

template <class Callback, class E, class M>
inline constexpr bool kListensTo =
    requires(Callback& c, const E& e, const M& model, Interrupter& control) { c.on(e); } ||
    requires(Callback& c, const E& e, const M& model, Interrupter& control) { c.on(e, control); } ||
    requires(Callback& c, const E& e, const M& model, Interrupter& control) { c.on(e, model); };

template <class Callback, class M>
inline constexpr bool kListens =
    kListensTo<Callback, Begin, M> || kListensTo<Callback, Step, M> || kListensTo<Callback, Evaluation, M> ||
    kListensTo<Callback, EpochEnd, M> || kListensTo<Callback, Saved, M> || kListensTo<Callback, Note, M> ||
    kListensTo<Callback, Ending, M>;

}  // namespace training
}  // namespace kiln
