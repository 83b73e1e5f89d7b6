// A training but for the types of its model and its data: how far it is, how far it shall go, who listens.
#pragma once
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/core/random.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/train/events.hpp"
#include "kiln/train/recorded.hpp"

namespace kiln {

/// What to do where a loss is infinite or no number. Of validation's loss, and of weights when the training ends, which can no
/// longer be left out, Skip and Ignore say so.
enum class NotFinite : std::uint8_t {
  Stop,    // an error with the step's number
  Skip,    // leave model and optimizer as they are, and go on with the next step; says so
  Ignore,  // take the step
};

/// How long, and how. A training goes on to the first of the limits. Can be read from JSON.
struct LearnerConfig {
  std::optional<std::int64_t> epochs{}, steps{};
  std::optional<double> seconds{};               // of this and of the processes before it
  std::int64_t accumulate = 1;                   // batches of a step, each counting by its items
  std::optional<std::int64_t> validate_every{};  // steps; otherwise at the end of each epoch
  std::int64_t log_every = 50;                   // steps from one look at the training metrics to the next
  std::optional<DType> autocast{};               // bfloat16 or float16 for products, convolutions and attention
  std::optional<GradientScalerConfig> scaler{};  // of the loss; by default one for float16, and none otherwise
  NotFinite not_finite = NotFinite::Stop;
  std::uint64_t seed = 0;  // of what a model draws: each batch has a stream of random numbers of its own

  /// Throws ArgumentError for what makes no sense, or would never end.
  void check() const;
};

class TrainingRun {
 public:
  using Listener = std::function<void(const training::Event&)>;

  explicit TrainingRun(const LearnerConfig& config);

  /// What a checkpoint keeps of it.
  training::Position at;

  const LearnerConfig& config() const { return config_; }
  /// What a resumed training must have as it was: all but the limits and what is looked at, and `own`, the user's.
  Json configuration(Json own) const;
  void listen(Listener listener) { listeners_.push_back(std::move(listener)); }
  void tell(const training::Event& event) const;
  Interrupter& control() { return control_; }

  /// An epoch has so many batches; the clock starts. Throws DataError where there are none.
  void begin(std::int64_t batches, std::int64_t parameters, std::vector<Device> devices,
             std::vector<training::Measured> measured);
  /// The next epoch has so many batches. Throws DataError where there are none.
  void expect(std::int64_t batches);
  /// Throws DataError where the data ended before the epoch did.
  void require_past(std::int64_t epoch);
  /// The key of the random numbers of the batch that comes next.
  Key batch_key() const;
  /// A batch was learned from, `items` of it, with this loss. Whether its step is complete then: it has config().accumulate
  /// batches, or the epoch ends.
  bool batch_done(double loss, std::int64_t items);
  bool completes_step() const;
  /// Ends the step, whose loss is returned to listeners.
  void step_done(const std::vector<double>& rates);
  /// Throws DataError for a batch of no items, which nothing can be learned from.
  void require_items(std::int64_t items) const;
  /// False, or an error, where this loss shall not be learned from.
  bool accepts(double loss);
  /// Says that what was learned has made `what` infinite or no number; under NotFinite::Stop as a DataError.
  void report_not_finite(std::string_view what) const;

  bool epoch_ended() const { return at.batch == batches_; }
  bool metrics_due() const { return at.step % config_.log_every == 0 || epoch_ended(); }
  bool validation_due() const;
  void next_epoch();
  /// A limit is reached, or somebody asked to stop.
  bool done();
  /// Of several ranks: the time by the clock of one, and what some rank was asked to stop for. From here on no other
  /// wish to stop counts.
  void agree(double seconds, std::optional<std::string> stop);
  const std::string& reason() const { return reason_; }

 private:
  using Clock = std::chrono::steady_clock;

  LearnerConfig config_;
  std::vector<Listener> listeners_;
  Interrupter control_;
  std::int64_t batches_ = 0;
  std::string reason_;
  bool agrees_ = false;
  std::optional<std::string> agreed_stop_;
  Clock::time_point step_began_{};

  // Of the step under way, which no checkpoint falls into.
  double loss_ = 0;
  std::int64_t items_ = 0, pending_ = 0;
};

/// Each gradient times `factor`.
GradientsParams scaled(GradientsParams grads, double factor);

}  // namespace kiln
