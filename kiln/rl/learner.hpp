// The loop of reinforcement learning: an agent acts in environments, collects the results, and learns.
//
//   rl::VectorEnvironment worlds([] { return rl::limited(rl::cart_pole(), rl::kCartPoleSteps); }, 8, /*seed=*/1);
//   rl::Dqn agent(rl::MlpConfig{.in = 4, .out = 2}.init(device.autodiff()), {}, worlds);
//   rl::RlLearner learner(std::move(agent), std::move(worlds), {.steps = 50'000});
//   learner.add(ProgressLines{}).fit();
//   save(learner.agent().policy(), "cart_pole.safetensors");
//
// Callbacks, logs, dashboards and checkpoints are those of a Learner (kiln/train). A step of training is one step of
// all environments; an epoch lasts from one evaluation to the next. An agent is any PolicyLearner: Dqn, Ppo, Td3, Sac,
// or a user's own.
#pragma once
#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/rl/agents/parts.hpp"
#include "kiln/train/callbacks.hpp"
#include "kiln/train/checkpoints.hpp"
#include "kiln/train/run.hpp"

namespace kiln::rl {

/// A type that learns a policy. `policy()` is the model that acts; `act` chooses the actions of [n, numbers] states by
/// it, row by row, with random numbers if it explores. `observe` receives each step of the environments, with the
/// observations before it; `learn` makes an update if one is due. The state is complete, for checkpoints.
template <class A>
concept PolicyLearner = requires(A& agent, const A& same, const Tensor<2>& seen, std::span<const float> numbers,
                                 const VectorEnvironment& worlds, Random& random) {
  { same.act(same.policy(), seen, random, true) } -> std::same_as<std::vector<float>>;
  agent.observe(numbers, numbers, worlds);
  { agent.learn(random) } -> std::same_as<std::optional<Update>>;
  { same.rate() } -> std::convertible_to<double>;
  agent.visit_state([](const std::string&, auto&) {});
} && Module<std::remove_cvref_t<decltype(std::declval<const A&>().policy())>>;

/// The length of training, and the intervals of measurements. Training ends at the first of the limits.
struct RlConfig {
  std::optional<std::int64_t> steps{};     // of all environments together
  std::optional<std::int64_t> episodes{};  // of all environments together
  std::optional<double> seconds{};
  std::int64_t evaluate_every = 10'000;  // steps; an epoch ends at each evaluation
  std::int64_t evaluation_episodes = 10;
  std::int64_t longest_episode = 100'000;  // steps after which an awaited episode counts as endless
  std::int64_t log_every = 1000;           // steps between readings of the training metrics
  std::uint64_t seed = 0;                  // the seed of all random numbers of the agent

  /// Throws ArgumentError for invalid values, and if training would never end.
  void check() const;
};

/// The sums of rewards and the steps of the last episodes.
struct EpisodeWindow {
  std::int64_t size = 100;  // the number of these episodes
  std::vector<double> rewards{}, steps{};
  std::int64_t count = 0;  // the number of all episodes so far

  void add(const Episode& episode);
  /// Returns the mean over the window; NaN if no episode has ended.
  double mean_reward() const;
  double mean_steps() const;
  /// Returns the means "reward" and "episode length", with a problem if no episode has ended.
  std::vector<Reading> readings() const;
};

/// The part of RlLearner that does not depend on the agent's type, so that it is compiled once.
class RlLoop {
 public:
  RlLoop(const RlLoop&) = delete;
  RlLoop& operator=(const RlLoop&) = delete;

  const training::Position& position() const { return run_.at; }
  Interrupter interrupter() { return run_.control(); }
  const EpisodeWindow& episodes() const { return episodes_; }
  const VectorEnvironment& worlds() const { return worlds_; }

  /// Adds a callback that takes no policy: see kiln/train/events.hpp. Throws what its check() throws, if it has one.
  template <class Callback>
  std::shared_ptr<Callback> add(Callback callback) {
    return callbacks_.add(run_, checkpoints_.objects(), std::move(callback));
  }

 protected:
  RlLoop(VectorEnvironment worlds, const RlConfig& config);
  ~RlLoop() = default;

  void keep_checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules, bool resume, Json own);
  training::RunEnd fit();
  /// Plays this many whole episodes without exploration, divided among the environments. Uses the normalisation of the
  /// training environments if they are normalised.
  EpisodeWindow evaluate(VectorEnvironment& worlds, std::int64_t episodes);

  TrainingRun run_;
  VectorEnvironment worlds_;
  std::optional<VectorEnvironment> evaluated_;

 private:
  // The functions below depend on the agent's type.
  virtual std::vector<float> act(const VectorEnvironment& worlds, Random& random, bool explores) = 0;
  virtual std::vector<float> applied(std::vector<float> actions) const = 0;
  virtual void observe(std::span<const float> seen, std::span<const float> actions) = 0;
  virtual std::optional<Update> learn(Random& random) = 0;
  virtual double rate() const = 0;
  virtual std::int64_t parameters() const = 0;
  virtual std::vector<Device> devices() const = 0;
  virtual void record(RecordedObjects& objects) = 0;

  void step();
  /// Throws DataError for an episode of this environment that does not end.
  void require_ending(const VectorEnvironment& worlds, std::size_t i) const;
  std::vector<Reading> train_readings() const;
  void save();

  RlConfig config_;
  training::Callbacks callbacks_;
  EpisodeWindow episodes_;
  std::vector<double> worlds_state_;     // the state of a checkpoint
  double loss_sum_ = 0, last_loss_ = 0;  // of the updates since the last reading
  std::int64_t updates_ = 0, last_updates_ = 0;
  std::vector<Reading> agent_readings_;
  training::Checkpoints checkpoints_;  // declared last, since its thread reads the other members
};

template <PolicyLearner A>
class RlLearner final : public RlLoop {
 public:
  using Policy = std::remove_cvref_t<decltype(std::declval<const A&>().policy())>;

  /// Throws ArgumentError for an invalid configuration.
  RlLearner(A agent, VectorEnvironment worlds, const RlConfig& config)
      : RlLoop(std::move(worlds), config), agent_(std::move(agent)) {}

  /// Adds a callback: see kiln/train/events.hpp.
  template <class Callback>
  RlLearner& add(Callback callback) {
    static_assert(training::kIsCallback<Callback> || training::kIsCallbackWith<Callback, Policy>,
                  "a callback has an on(event) for some event of kiln/train/events.hpp");
    const auto held = RlLoop::add(std::move(callback));
    if constexpr (training::kIsCallbackWith<Callback, Policy>)
      run_.listen([this, held](const training::Event& event) { training::notify_with(*held, event, agent_.policy()); });
    return *this;
  }
  /// Evaluates in these environments. Without this call there is no evaluation.
  RlLearner& evaluate_in(VectorEnvironment worlds) {
    evaluated_.emplace(std::move(worlds));
    return *this;
  }
  /// Chooses actions on another device than the one that learns, with a copy of the policy.
  RlLearner& act_on(const Device& device) {
    acting_device_ = device;
    return *this;
  }
  /// Saves the training to `directory` by these rules and at its end, including environments and buffers. fit()
  /// continues from the newest checkpoint there with the same bits, or begins anew unless `resume`. Throws
  /// ArgumentError if an environment does not define its state.
  RlLearner& checkpoints(const std::filesystem::path& directory, const CheckpointRules& rules = {}, bool resume = true,
                         Json configuration = {}) {
    keep_checkpoints(directory, rules, resume, std::move(configuration));
    return *this;
  }

  /// Acts and learns until a limit is reached or a stop is requested. It may be called again.
  training::RunEnd fit() { return RlLoop::fit(); }
  /// Plays this many whole episodes without exploration in `worlds`.
  EpisodeWindow evaluate(VectorEnvironment& worlds, std::int64_t episodes) {
    return RlLoop::evaluate(worlds, episodes);
  }

  const A& agent() const { return agent_; }

 private:
  std::vector<float> act(const VectorEnvironment& worlds, Random& random, bool explores) override {
    if (acting_device_ && !acting_) acting_.emplace(to_device(agent_.policy(), *acting_device_));
    const Policy& policy = acting_ ? *acting_ : agent_.policy();
    const NoGrad pause;
    return agent_.act(policy, rows_of(worlds.observations(), worlds.count(), device_of(policy)), random, explores);
  }
  std::vector<float> applied(std::vector<float> actions) const override {
    if constexpr (requires { agent_.applied(actions); }) return agent_.applied(std::move(actions));
    else return actions;
  }
  void observe(std::span<const float> seen, std::span<const float> actions) override {
    agent_.observe(seen, actions, worlds_);
  }
  std::optional<Update> learn(Random& random) override {
    std::optional<Update> update = agent_.learn(random);
    if (update) acting_.reset();
    return update;
  }
  double rate() const override { return agent_.rate(); }
  std::int64_t parameters() const override { return num_params(agent_.policy()); }
  std::vector<Device> devices() const override { return devices_of(agent_.policy()); }
  void record(RecordedObjects& objects) override { objects.add("agent", agent_); }

  A agent_;
  std::optional<Device> acting_device_;
  std::optional<Policy> acting_;  // the policy there; copied again after an update
};

}  // namespace kiln::rl
