// The state of a training run that is independent of the types of its model and data: its progress, its limits, its
// listeners.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/random.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/recorded.hpp"

namespace kiln {

/// What to do if a loss is infinite or NaN. For the loss of validation, and for weights at the end of training, which
/// can no longer be skipped, Skip and Ignore only report it.
enum class NotFinite : std::uint8_t {
  Stop,    // throw an error with the step's number
  Skip,    // leave model and optimizer unchanged, report it, and go on with the next step
  Ignore,  // take the step
};

/// Limits and options of training, which ends at the first limit that is reached. Can be read from JSON.
struct LearnerConfig {
  std::optional<std::int64_t> epochs{}, steps{};
  std::optional<double> seconds{};               // time limit of this and of earlier processes together
  std::int64_t accumulate = 1;                   // batches per step, each weighted by its items
  std::optional<std::int64_t> validate_every{};  // in steps; default: at the end of each epoch
  std::int64_t log_every = 50;                   // steps between two readings of the training metrics
  std::optional<DType> autocast{};               // bfloat16 or float16 for products, convolutions and attention
  std::optional<GradientScalerConfig> scaler{};  // scales the loss; default: one for float16, and none otherwise
  NotFinite not_finite = NotFinite::Stop;
  std::uint64_t seed = 0;  // for random numbers of the model: each batch has its own stream

  /// Throws ArgumentError for an invalid configuration, or one without a limit.
  void check() const;
};

class TrainingRun {
 public:
  using Listener = std::function<void(const training::Event&)>;

  explicit TrainingRun(const LearnerConfig& config);

  /// The part that a checkpoint saves.
  training::Position at;

  const LearnerConfig& config() const { return config_; }
  /// What must be the same in a resumed run: everything except limits and logging, and `own`, the user's configuration.
  Json configuration(Json own) const;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }
  void notify(const training::Event& event) const;
  Interrupter& control() { return control_; }

  /// An epoch has `batches` batches; starts the clock. Throws DataError if there are none.
  void begin(std::int64_t batches, std::int64_t parameters, std::vector<Device> devices,
             std::vector<training::Measured> measured);
  /// The next epoch has `batches` batches. Throws DataError if there are none.
  void expect(std::int64_t batches);
  /// Throws DataError if the data ended before the epoch did.
  void require_past(std::int64_t epoch);
  /// The key of the random numbers of the next batch.
  Key batch_key() const;
  /// A batch of `items` items was used, with this loss. Returns whether its step is complete: it has
  /// config().accumulate batches, or the epoch ends.
  bool batch_done(double loss, std::int64_t items);
  bool completes_step() const;
  /// Ends the step, and reports its loss to the listeners.
  void step_done(const std::vector<double>& rates);
  /// Ends a step of one batch whose loss is not known yet; the event is to be completed by report().
  training::Step step_ahead(std::int64_t items, const std::vector<double>& rates);
  /// Reports a step to the listeners; `sum` is that of the losses of its items.
  void report(training::Step step, double sum) const;
  /// Throws DataError for a batch without items, from which nothing can be learned.
  void require_items(std::int64_t items) const;
  /// Returns false, or throws, if this loss must not be used. `cause` ends the error's sentence.
  bool accepts(double loss, FunctionRef<std::string()> cause);
  /// Reports that training made `what` infinite or NaN; with NotFinite::Stop as a DataError.
  void report_not_finite(std::string_view what) const;

  bool epoch_ended() const { return at.batch == batches_; }
  bool metrics_due() const { return at.step % config_.log_every == 0 || epoch_ended(); }
  bool validation_due() const;
  void next_epoch();
  /// Is a limit reached, or a stop requested?
  bool done();
  /// Several ranks agree on the time, by the clock of one rank, and on the reason for which some rank was asked to stop.
  /// From here on no other request to stop counts.
  void agree(double seconds, std::optional<std::string> stop);
  const std::string& reason() const { return reason_; }

 private:
  using Clock = std::chrono::steady_clock;

  training::Step end_step(const std::vector<double>& rates);

  LearnerConfig config_;
  std::vector<Listener> listeners_;
  Interrupter control_;
  std::int64_t batches_ = 0;
  std::string reason_;
  bool agrees_ = false;
  std::optional<std::string> agreed_stop_;
  Clock::time_point step_began_{};

  // These describe the current step; checkpoints are never taken within a step.
  double loss_ = 0;
  std::int64_t items_ = 0, pending_ = 0;
};

/// Multiplies each gradient by `factor`.
GradientsParams scaled(GradientsParams grads, double factor);

}  // namespace kiln
