#include "tests/programs/stateful/run.hpp"

#include <unistd.h>

#include <exception>
#include <filesystem>
#include <thread>

#include "kiln/core/parallel.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/scope/checkpointing.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/save.hpp"

namespace kiln::stateful {
namespace {

struct Learner {
  Network network;
  AnyOptimizer optimizer;
};

struct Batch {
  Value x, target;
};

class Runner {
 public:
  Runner(const Program& program, const Setting& setting)
      : program_(program), setting_(setting), device_(setting.device.autodiff()) {
    for (std::uint64_t i = 0; i < 2; ++i) learners_.push_back(fresh_learner(i));
  }

  Trace run() {
    try {
      for (const Step& step : program_.steps) {
        set_num_threads(step.threads);
        take(step);
        ++now_;
      }
      read_pending();
      read_learners();
      device_.sync();  // what nobody reads: where Fusion cuts what the next program asks for depends on what waits
    } catch (const Error& error) { fail<ArgumentError>("step ", now_, ": ", error.what()); }
    return std::move(trace_);
  }

 private:
  // ---- learners and batches ----------------------------------------------------------------------------------------

  Learner fresh_learner(std::uint64_t index) const {
    device_.seed(index);
    const Key key = Key{program_.seed}.split(index);
    Network network = make(program_.recipe, device_, setting_.dtype, key, setting_.perturbation);
    // Epsilons as large as gradients: steps of Adam are to be no matter of signs of rounding errors.
    const auto rule = [&]() -> AnyRule {
      switch (program_.rule) {
        case Rule::Sgd: return SgdConfig{.weight_decay = 0.01};
        case Rule::Momentum: return SgdConfig{.momentum = 0.9, .nesterov = program_.seed % 2 == 0};
        case Rule::Adam: return AdamConfig{.epsilon = 0.02, .weight_decay = 0.01};
        default: return AdamWConfig{.epsilon = 0.02};
      }
    };
    AnyOptimizer optimizer(rule(), network);
    return {std::move(network), std::move(optimizer)};
  }

  Learner& learner(const Step& step) { return learners_[static_cast<std::size_t>(step.learner)]; }

  /// The same one for the same seed and size.
  Batch batch(std::uint64_t seed, std::int64_t size, const Device& device) const {
    const Recipe& recipe = program_.recipe;
    const Key key = Key{seed}.split(static_cast<std::uint64_t>(size) + 50);
    Shape shape = recipe.example;
    shape.insert(0, size);
    Batch batch;
    if (recipe.tokens) batch.x = from_data(indices(shape, recipe.tokens, key), device);
    else batch.x = from_data(exact_numbers(shape, 0, 1, key, setting_.perturbation).to(setting_.dtype), device);
    if (recipe.loss == Loss::Mse)
      batch.target = from_data(exact_numbers({size, recipe.width}, 0, 1, key.split(2)).to(setting_.dtype), device);
    else batch.target = from_data(indices({size}, recipe.width, key.split(2)), device);
    return batch;
  }
  static TensorData indices(const Shape& shape, std::int64_t limit, Key key) {
    Random random(key);
    TensorData data(shape, DType::I64);
    for (std::int64_t& index : data.as<std::int64_t>()) index = random.below(limit);
    return data;
  }

  Value forward(const Network& network, const Value& x, std::size_t split = 99) const {
    const Autocast scope(setting_.autocast);
    return stateful::forward(program_.recipe, network, x, split);
  }
  Tensor<0> loss(const Network& network, const Batch& batch, std::size_t split) const {
    const Tensor<2> y(forward(network, batch.x, split));
    switch (program_.recipe.loss) {
      case Loss::CrossEntropy:  // of logits that are bounded: what is left of a probability near 1 has few digits
        return nn::CrossEntropyLoss{}.forward(2 * y.tanh(), Tensor<1, Int>(batch.target));
      case Loss::Smoothed:
        return nn::CrossEntropyLoss{.label_smoothing = 0.125}.forward(y, Tensor<1, Int>(batch.target));
      case Loss::Mse: return nn::MseLoss{}.forward(y.to(setting_.dtype), Tensor<2>(batch.target));
      default: return y.square().mean();
    }
  }

  // ---- what is seen ------------------------------------------------------------------------------------------------

  struct Pending {
    int step;
    std::string name;
    Value value;
  };

  void observe(const Step& step, std::string name, const Value& value) {
    if (step.reading == Reading::Never) return;
    pending_.push_back({now_, std::move(name), value});
    if (step.reading == Reading::Early) read(pending_.back()), pending_.pop_back();
  }
  void observe(const Step& step, const GradientsParams& grads) {
    for (const auto& [path, grad] : grads.by_path) observe(step, "gradient of " + path, grad);
  }
  void read(const Pending& pending) { trace_.push_back({pending.step, pending.name, pending.value.data()}); }
  void read_pending() {
    for (const Pending& each : pending_) read(each);
    pending_.clear();
  }
  void read_learners() {
    for (std::size_t i = 0; i < learners_.size(); ++i) {
      visit_tensors(std::as_const(learners_[i].network), [&](const std::string& path, const Value& value) {
        read({now_, text("model ", i, ": ", path), value});
      });
      std::as_const(learners_[i].optimizer).visit_state([&]<class P>(const std::string& name, const P& part) {
        // Masters of halves, which float64 lacks, are what the parameters are.
        if constexpr (std::is_same_v<P, Value>)
          if (!name.ends_with(".master")) read({now_, text("optimizer ", i, ": ", name), part});
      });
    }
  }

  // ---- steps -------------------------------------------------------------------------------------------------------

  void take(const Step& step) {
    device_.seed(step.seed);
    const Checkpointing scope(step.balanced ? Checkpointing::Balanced : Checkpointing::None);
    if (step.thaws) thaw(learner(step).network);
    switch (step.action) {
      case Action::Train: return train(step);
      case Action::TwoForwards: return two_forwards(step);
      case Action::Accumulate: return accumulate(step);
      case Action::Again: return again(step);
      case Action::InputGradient: return input_gradient(step);
      case Action::Penalty: return penalty(step);
      case Action::Evaluate: return evaluate(step);
      case Action::Share: return share(step);
      case Action::Copy: learners_[static_cast<std::size_t>(step.other)] = learner(step); return;
      case Action::Blend: return blend(step);
      case Action::Save: return save_and_load(step);
      case Action::ReadAll: return read_pending();
    }
  }

  /// Weights are always trained, so that every loss has a gradient.
  static void thaw(Network& network) {
    visit_params(network, [](const std::string&, auto& param) {
      if (param.value().rank() == 1) param.set_frozen(!param.is_frozen());
    });
  }

  void update(const Step& step, GradientsParams grads) {
    observe(step, grads);
    if (step.clipped) grads = clip_by_global_norm(std::move(grads), 0.25);
    Learner& mine = learner(step);
    mine.network = mine.optimizer.step(step.rate, std::move(mine.network), grads);
    if (step.flushed) device_.sync();
  }

  void train(const Step& step) {
    const Batch data = batch(step.seed, step.batch, device_);
    GradientScaler scaler = GradientScalerConfig{.exponent = 5}.init();
    auto [lost, grads] = value_and_grad(learner(step).network, [&](const Network& model) {
      const Tensor<0> unscaled = loss(model, data, step.split);
      return step.scaled ? scaler.scale(unscaled) : unscaled;
    });
    observe(step, "loss", lost.value());
    update(step, step.scaled ? scaler.unscale(std::move(grads)) : std::move(grads));
  }

  void two_forwards(const Step& step) {
    const Network& model = learner(step).network;
    const Tensor<0> one = loss(model, batch(step.seed, step.batch, device_), step.split);
    const Tensor<0> two = loss(model, batch(step.seed + 1, step.batch + 1, device_), 99);
    observe(step, "first loss", one.detach().value());
    update(step, GradientsParams::from((one + two).backward(), model));
  }

  void accumulate(const Step& step) {
    const Network& model = learner(step).network;
    GradientsParams total;
    for (std::uint64_t i = 0; i < 3; ++i) {
      const Batch data = batch(step.seed + i, step.batch + static_cast<std::int64_t>(i % 2), device_);
      auto [lost, grads] = value_and_grad(model, [&](const Network& m) { return loss(m, data, step.split); });
      observe(step, text("loss ", i), lost.value());
      for (auto& [path, grad] : grads.by_path) {
        Value& sum = total.by_path[path];
        sum = sum ? sum + grad : grad;
      }
    }
    update(step, std::move(total));
  }

  void again(const Step& step) {
    const Network& model = learner(step).network;
    const Tensor<0> lost = loss(model, batch(step.seed, step.batch, device_), step.split);
    observe(step, GradientsParams::from(lost.backward(), model));
    observe(step, GradientsParams::from(lost.backward(), model));
  }

  void input_gradient(const Step& step) {
    Batch data = batch(step.seed, step.batch, device_);
    data.x = data.x.require_grad();
    const Tensor<0> lost = loss(learner(step).network, data, step.split);
    observe(step, "gradient of the inputs", grad(lost.value(), {&data.x, 1})[0]);
  }

  void penalty(const Step& step) {
    const Network& model = learner(step).network;
    Batch data = batch(step.seed, step.batch, device_);
    data.x = data.x.require_grad();
    const Tensor<0> lost = loss(model, data, step.split);
    const Value by_input = grad(lost.value(), {&data.x, 1}, {.create_graph = true})[0];
    observe(step, "gradient of the inputs", by_input.detach());
    update(step, GradientsParams::from(backward(lost.value() + mean(square(by_input * 4.0))), model));
  }

  void evaluate(const Step& step) {
    const NoGrad scope(step.unrecorded);
    const Network model = valid(learner(step).network);
    observe(step, "output", forward(model, batch(step.seed, step.batch, device_).x).detach());
  }

  void share(const Step& step) {
    const Network model = valid(learner(step).network);
    const auto readers = static_cast<std::size_t>(step.readers);
    std::vector<Value> outputs(readers);
    std::vector<TensorData> read(readers);
    std::vector<std::exception_ptr> errors(readers);
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < readers; ++i)
        threads.emplace_back([&, i] {
          try {
            const NoGrad scope;
            outputs[i] = forward(model, batch(step.seed + i, step.batch, device_).x);
            if (i % 2) read[i] = outputs[i].data();
          } catch (...) { errors[i] = std::current_exception(); }
        });
    }
    for (std::size_t i = 0; i < readers; ++i) {
      if (errors[i]) std::rethrow_exception(errors[i]);
      observe(step, text("output of thread ", i), outputs[i]);
    }
  }

  void blend(const Step& step) {
    const NoGrad scope;
    std::map<std::string, Value> source;
    visit_params(learner(step).network,
                 [&](const std::string& path, const auto& param) { source[path] = param.value().detach(); });
    Network& target = learners_[static_cast<std::size_t>(step.other)].network;
    target = map_params(target, [&](const std::string& path, const Value& value) {
      return value.detach() * 0.75 + source.at(path) * 0.25;
    });
  }

  void save_and_load(const Step& step) {
    Learner& mine = learner(step);
    Learner fresh = fresh_learner(5);
    const auto through = [&]<class T>(const T& object, T into) {
      if (!step.on_disk) {
        const std::vector<std::byte> bytes = write_safetensors(record_of(object));
        return from_record(view_safetensors(bytes, "memory"), std::move(into), "memory");
      }
      const std::string path = std::filesystem::temp_directory_path() / text("kiln-stateful-", getpid());
      save(object, path);
      T result = load(path, std::move(into));
      std::filesystem::remove(path);
      return result;
    };
    mine.network = through(mine.network, std::move(fresh.network));
    mine.optimizer = through(mine.optimizer, std::move(fresh.optimizer));
  }

  const Program& program_;
  const Setting& setting_;
  const Device device_;
  std::vector<Learner> learners_;
  std::vector<Pending> pending_;
  Trace trace_;
  int now_ = 0;
};

}  // namespace

Trace run(const Program& program, const Setting& setting) { return Runner(program, setting).run(); }

}  // namespace kiln::stateful
