#include "kiln/rl/learner.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"

namespace kiln::rl {
namespace {

/// Returns how many steps of all environments make at least so many steps in all.
std::int64_t rounds(std::int64_t steps, std::size_t environments) {
  const auto count = static_cast<std::int64_t>(environments);
  return std::max<std::int64_t>(1, steps / count + (steps % count != 0));
}

/// Returns NaN for no numbers.
double mean_of(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
}

LearnerConfig run_config(const RlConfig& config, std::size_t environments) {
  config.check();
  LearnerConfig run;
  run.steps = rounds(config.steps.value_or(std::numeric_limits<std::int64_t>::max()), environments);
  run.seconds = config.seconds;
  run.log_every = rounds(config.log_every, environments);
  run.seed = config.seed;
  return run;
}

}  // namespace

void RlConfig::check() const {
  require<ArgumentError>(steps || episodes || seconds, "RlConfig: set a limit of steps, episodes or seconds");
  const auto positive = [](std::string_view name, auto number) {
    require<ArgumentError>(number > 0, "RlConfig: ", name, " = ", number, " must be positive");
  };
  if (steps) positive("steps", *steps);
  if (episodes) positive("episodes", *episodes);
  if (seconds) positive("seconds", *seconds);
  positive("evaluate_every", evaluate_every);
  positive("evaluation_episodes", evaluation_episodes);
  positive("longest_episode", longest_episode);
  positive("log_every", log_every);
}

void EpisodeWindow::add(const Episode& episode) {
  const auto place = static_cast<std::size_t>(count++ % size);
  if (place >= rewards.size()) {
    rewards.push_back(episode.reward);
    steps.push_back(static_cast<double>(episode.steps));
  } else {
    rewards[place] = episode.reward;
    steps[place] = static_cast<double>(episode.steps);
  }
}

double EpisodeWindow::mean_reward() const { return mean_of(rewards); }
double EpisodeWindow::mean_steps() const { return mean_of(steps); }

std::vector<Reading> EpisodeWindow::readings() const {
  const std::string problem = rewards.empty() ? "no episode has ended" : "";
  return {{"reward", mean_reward(), problem}, {"episode length", mean_steps(), problem}};
}

RlLoop::RlLoop(VectorEnvironment worlds, const RlConfig& config)
    : run_(run_config(config, worlds.count())), worlds_(std::move(worlds)), config_(config) {}

void RlLoop::keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume,
                              Json own) {
  worlds_state_ = worlds_.state();  // throws now if the state cannot be saved
  checkpoints_.keep(directory, rules, resume, run_.configuration(std::move(own)));
  RecordedObjects& objects = checkpoints_.objects();
  record(objects);
  objects.add("worlds", worlds_state_);
  objects.add("episodes", episodes_);
  objects.add("loss sum", loss_sum_);
  objects.add("last loss", last_loss_);
  objects.add("updates", updates_);
  objects.add("last updates", last_updates_);
}

std::vector<Reading> RlLoop::train_readings() const {
  std::vector<Reading> readings;
  const std::int64_t count = updates_ - last_updates_;
  if (count > 0) readings.push_back({"loss", loss_sum_ / static_cast<double>(count)});
  else readings.push_back({"loss", std::numeric_limits<double>::quiet_NaN(), "nothing was learned"});
  for (Reading& reading : episodes_.readings()) readings.push_back(std::move(reading));
  readings.insert(readings.end(), agent_readings_.begin(), agent_readings_.end());
  return readings;
}

void RlLoop::step() {
  const std::vector<float> seen(worlds_.observations().begin(), worlds_.observations().end());
  // Each step has its own random numbers, so that a checkpoint need not store how many were used.
  Random random(Key{config_.seed}.split(static_cast<std::uint64_t>(run_.at.step)));
  const std::vector<float> actions = act(worlds_, random, true);
  worlds_.step(applied(actions));
  observe(seen, actions);
  for (const Episode& episode : worlds_.ended()) episodes_.add(episode);
  while (std::optional<Update> update = learn(random)) {
    const auto cause = [] { return std::string("look for NaN in observations and rewards, or try a lower rate"); };
    if (run_.accepts(update->loss, cause)) loss_sum_ += update->loss;
    last_loss_ = update->loss;
    agent_readings_ = std::move(update->readings);
    ++updates_;
  }
  run_.batch_done(updates_ > 0 ? last_loss_ : std::numeric_limits<double>::quiet_NaN(),
                  static_cast<std::int64_t>(worlds_.count()));
  run_.step_done({rate()});
  if (!config_.episodes) return;
  if (episodes_.count >= *config_.episodes) run_.control().stop(text("all ", *config_.episodes, " episodes are done"));
  if (!config_.steps && !config_.seconds)
    for (std::size_t i = 0; i < worlds_.count(); ++i) require_ending(worlds_, i);
}

void RlLoop::require_ending(const VectorEnvironment& worlds, std::size_t i) const {
  require<DataError>(worlds.open()[i].steps <= config_.longest_episode, "RlLearner: ", worlds.environment(i).name(),
                     ": an episode does not end within ", config_.longest_episode,
                     " steps: limited() of kiln/rl/wrappers.hpp ends it, RlConfig::longest_episode waits longer");
}

void RlLoop::save() {
  worlds_state_ = worlds_.state();
  checkpoints_.save(run_);
}

training::RunEnd RlLoop::fit() try {
  const SignalScope signals;
  training::OptionalState optional_state;
  MetricList metrics;
  worlds_state_.clear();
  checkpoints_.open(run_, optional_state, metrics, {});
  if (!worlds_state_.empty()) worlds_.set_state(worlds_state_);  // a checkpoint's
  run_.begin(rounds(config_.evaluate_every, worlds_.count()), parameters(), devices(), {});
  while (!run_.done()) {
    step();
    const bool ended = run_.epoch_ended();
    if (run_.metrics_due()) {
      run_.notify(training::Evaluation{run_.at, "train", train_readings(), ended});
      loss_sum_ = 0;
      last_updates_ = updates_;
    }
    if (ended) {
      if (evaluated_) {
        const EpisodeWindow found = evaluate(*evaluated_, config_.evaluation_episodes);
        run_.notify(training::Evaluation{run_.at, "valid", found.readings()});
      }
      run_.next_epoch();
    }
    if (checkpoints_.due(run_, ended)) save();
  }
  if (run_.control().saves_end() && checkpoints_.lacks(run_)) save();
  callbacks_.report_missed(run_);
  checkpoints_.finish();
  const training::RunEnd ending{run_.at, run_.reason()};
  run_.notify(ending);
  return ending;
} catch (...) { rethrow_as_memory_error("training"); }

EpisodeWindow RlLoop::evaluate(VectorEnvironment& worlds, std::int64_t episodes) {
  require<ArgumentError>(episodes >= 1, "RlLearner: an evaluation of ", episodes, " episodes: must be at least 1");
  require<ShapeError>(worlds.environment(0).observations() == worlds_.environment(0).observations() &&
                          worlds.action_space() == worlds_.action_space(),
                      "RlLearner: an evaluation in ", worlds.environment(0).name(), " of what learns in ",
                      worlds_.environment(0).name(), ", which has other spaces");
  if (worlds_.normalization()) worlds.normalize_as(*worlds_.normalization());
  worlds.reset(config_.seed);
  Random random(Key{config_.seed}.split(std::numeric_limits<std::uint64_t>::max()));  // no step's
  EpisodeWindow found{.size = episodes};
  const auto count = static_cast<std::int64_t>(worlds.count());
  // The first episodes that end are short ones, so each environment plays a fixed number of them.
  std::vector<std::int64_t> left(worlds.count());
  for (std::int64_t i = 0; i < count; ++i)
    left[static_cast<std::size_t>(i)] = episodes / count + (i < episodes % count);
  while (found.count < episodes) {
    worlds.step(applied(act(worlds, random, false)));
    for (std::size_t i = 0; i < worlds.count(); ++i)
      if (left[i] > 0) require_ending(worlds, i);
    for (const Episode& episode : worlds.ended()) {
      if (left[episode.environment] == 0) continue;
      --left[episode.environment];
      found.add(episode);
    }
  }
  return found;
}

}  // namespace kiln::rl
