// The callbacks of a training, whichever loop it is: who they are, what checkpoints keep of them, and logs that cannot
// be written.
#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/train/recorded.hpp"
#include "kiln/train/run.hpp"

namespace kiln::training {

class Callbacks {
 public:
  /// Has the callback listen to the run, as far as its on() takes no model, and its `state` and `seen` recorded. The
  /// run and the objects have to live as long as this. Throws what the callback's check() does, if it has one.
  template <class Callback>
  std::shared_ptr<Callback> add(TrainingRun& run, RecordedObjects& objects, Callback callback) {
    if constexpr (requires { callback.check(); }) callback.check();
    auto held = std::make_shared<Callback>(std::move(callback));
    if constexpr (requires { held->state; }) objects.add(text("callbacks.", with_state_++), held->state);
    if constexpr (requires { held->seen; })
      objects.add_optional(std::string(reflect::type_name<Callback>()), held->seen);
    if constexpr (kIsCallback<Callback>) {
      TrainingRun::Listener listener = [&run, held](const Event& event) { notify(*held, event, run.control()); };
      if constexpr (requires { requires Callback::kIsALog; }) {
        TakeErrors take_errors;
        if constexpr (requires { held->take_errors(); }) take_errors = [held] { return held->take_errors(); };
        listener = tolerate_errors(run, std::move(listener), std::move(take_errors));
      }
      run.listen(std::move(listener));
    }
    return held;
  }
  /// Waits for logs on threads of their own, and notes how many events each log lacks. Throws their errors that are no
  /// IoError.
  void report_missed(const TrainingRun& run) const;

 private:
  /// The events that a log could not write after training had begun.
  struct LostEvents {
    std::string why;
    std::int64_t events = 0;
    void add(const IoError& error) {
      if (events++ == 0) why = error.message();
    }
  };
  /// Waits for a log, and returns its errors that nobody has been told of. Null: it has none.
  using TakeErrors = std::function<std::vector<std::exception_ptr>()>;
  struct Log {
    std::shared_ptr<LostEvents> lost;
    TakeErrors take_errors;
  };
  /// Wraps a log so that its IoError (a full disk) is reported and does not end the training.
  TrainingRun::Listener tolerate_errors(TrainingRun& run, TrainingRun::Listener log, TakeErrors take_errors);

  int with_state_ = 0;
  std::vector<Log> logs_;
};

}  // namespace kiln::training
