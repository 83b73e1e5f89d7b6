#include "kiln/train/run.hpp"

#include <cmath>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/train/positive.hpp"

namespace kiln {

void LearnerConfig::check() const {
  require<ArgumentError>(epochs || steps || seconds, "training: set a limit of epochs, steps or seconds");
  const auto positive = [](std::string_view name, const auto& value) {
    training::require_positive("training", name, value);
  };
  positive("epochs", epochs);
  positive("steps", steps);
  positive("seconds", seconds);
  positive("validate_every", validate_every);
  positive("accumulate", std::optional(accumulate));
  positive("log_every", std::optional(log_every));
  require<ArgumentError>(!autocast || *autocast == DType::F32 || (size_of(*autocast) == 2 && is_float(*autocast)),
                         "training: autocast is ", autocast.value_or(DType::F32),
                         ", it must be bfloat16, float16 or float32");
  if (scaler) scaler->check();
}

TrainingRun::TrainingRun(const LearnerConfig& config) : config_(config) { config_.check(); }

Json TrainingRun::configuration(Json own) const {
  LearnerConfig fixed = config_;
  fixed.epochs = fixed.steps = fixed.validate_every = std::nullopt;
  fixed.seconds = std::nullopt;
  fixed.log_every = 1;
  return {Json::Object{{"learner", to_json(fixed)}, {"own", std::move(own)}}};
}

void TrainingRun::notify(const training::Event& event) const {
  for (const Listener& listener : listeners_) listener(event);
}

void TrainingRun::expect(std::int64_t batches) {
  require<DataError>(
      batches > 0,
      "training: the training data have no batches: they have no items, or fewer than a batch and drop_last");
  batches_ = batches;
}

void TrainingRun::require_past(std::int64_t epoch) {
  require<DataError>(at.epoch > epoch || done(), "training: the data of epoch ", epoch + 1, " ended after ", at.batch,
                     " of ", batches_, " batches");
}

void TrainingRun::begin(std::int64_t batches, std::int64_t parameters, std::vector<Device> devices,
                        std::vector<training::Measured> measured) {
  expect(batches);
  require<DataError>(at.batch <= batches, "training: the checkpoint is at batch ", at.batch, " of an epoch of ",
                     batches, ": the training data, or the size of a batch, have changed");
  reason_.clear();
  at.batch -= std::exchange(pending_, 0);  // batches of a step that an error ended
  loss_ = 0;
  items_ = 0;
  notify(training::Begin{at, batches, config_.epochs, config_.steps, parameters, control_, std::move(devices),
                         std::move(measured), config_.seconds});
  step_began_ = Clock::now();
}

Key TrainingRun::batch_key() const {
  return Key{config_.seed}.split(static_cast<std::uint64_t>(at.epoch)).split(static_cast<std::uint64_t>(at.batch));
}

bool TrainingRun::completes_step() const { return pending_ + 1 == config_.accumulate || at.batch + 1 == batches_; }

bool TrainingRun::batch_done(double loss, std::int64_t items) {
  const bool complete = completes_step();
  ++at.batch;
  ++pending_;
  if (items > 0) loss_ += loss * static_cast<double>(items);
  items_ += items;
  return complete;
}

void TrainingRun::step_done(const std::vector<double>& rates) {
  const double loss = loss_;
  report(end_step(rates), loss);
}

training::Step TrainingRun::step_ahead(std::int64_t items, const std::vector<double>& rates) {
  batch_done(0, items);
  return end_step(rates);
}

training::Step TrainingRun::end_step(const std::vector<double>& rates) {
  const auto now = Clock::now();
  const double seconds = std::chrono::duration<double>(now - step_began_).count();
  step_began_ = now;
  ++at.step;
  at.items += items_;
  at.seconds += seconds;
  pending_ = 0;
  loss_ = 0;
  return {at, 0, rates, std::exchange(items_, 0), seconds};
}

void TrainingRun::report(training::Step step, double sum) const {
  step.loss = sum / static_cast<double>(step.items);  // NaN if all batches were skipped
  notify(step);
}

void TrainingRun::require_items(std::int64_t items) const {
  require<DataError>(items > 0, "training: batch ", at.batch + 1, " of epoch ", at.epoch + 1, " has no items");
}

bool TrainingRun::accepts(double loss, FunctionRef<std::string()> cause) {
  if (std::isfinite(loss) || config_.not_finite == NotFinite::Ignore) return true;
  if (config_.not_finite == NotFinite::Stop)
    fail<DataError>("training: the loss of step ", at.step + 1, " is ", loss, " (epoch ", at.epoch + 1, ", batch ",
                    at.batch + 1, "); ", cause());
  notify(training::Message{text("step ", at.step + 1, " is left out: its loss is ", loss)});
  return false;
}

void TrainingRun::report_not_finite(std::string_view what) const {
  const std::string sentence = text("after step ", at.step, " not finite: ", what);
  require<DataError>(config_.not_finite != NotFinite::Stop, "training: ", sentence);
  notify(training::Message{sentence});
}

bool TrainingRun::validation_due() const {
  return config_.validate_every ? at.step % *config_.validate_every == 0 : epoch_ended();
}

void TrainingRun::next_epoch() {
  ++at.epoch;
  at.batch = 0;
  notify(training::EpochEnd{at});
}

bool TrainingRun::done() {
  if (config_.epochs && at.epoch >= *config_.epochs) reason_ = text("all ", *config_.epochs, " epochs are done");
  else if (config_.steps && at.step >= *config_.steps) reason_ = text("all ", *config_.steps, " steps are done");
  else if (config_.seconds && at.seconds >= *config_.seconds)
    reason_ = text("the time of ", *config_.seconds, " s is over");
  else if (agrees_) reason_ = agreed_stop_.value_or("");
  else if (control_.should_stop()) reason_ = control_.reason();
  return !reason_.empty();
}

void TrainingRun::agree(double seconds, std::optional<std::string> stop) {
  at.seconds = seconds;
  agrees_ = true;
  agreed_stop_ = std::move(stop);
}

GradientsParams scaled(GradientsParams grads, double factor) {
  for (auto& [path, grad] : grads.by_path) grad = grad * factor;
  return grads;
}

}  // namespace kiln
