// Wrong programs, each with the sentence that the compiler must say in fewer than 15 lines (a regular expression); check.py compiles
// them one by one. One that says "compiles" shows that the others fail for what is wrong in them.

// === batcher_of_a_vector: DataLoader: the batcher cannot be called
auto loader(std::vector<Row> rows) {
  return DataLoader(InMemory<Row>(rows), [](const std::vector<Row>& rows) { return Batch{}; });
}

// === batcher_of_nothing: DataLoader: the batcher returns nothing
auto loader(std::vector<Row> rows) {
  return DataLoader(InMemory<Row>(rows), [](std::span<const Row> rows) {}, {.batch_size = 2});
}

// === batcher_of_other_items: DataLoader: the batcher cannot be called
auto loader(std::vector<Row> rows) {
  return DataLoader(InMemory<Row>(rows), [](std::span<const int> rows) { return Batch{}; });
}

// === batcher_that_changes: DataLoader: the batcher cannot be called, being const
auto loader(std::vector<Row> rows) {
  return DataLoader(InMemory<Row>(rows), [n = 0](std::span<const Row> rows) mutable {
    ++n;
    return Batch{};
  });
}

// === batcher_with_a_method: rename batch\(\) to operator\(\)
struct RowBatcher {
  Batch batch(std::span<const Row> rows) const;
};
auto loader(std::vector<Row> rows) { return DataLoader(InMemory<Row>(rows), RowBatcher{}); }

// === callback_without_on: a callback has an on\(event\)
struct Bell {
  void epoch_end() {}
};
void run(Model model) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.add(Bell{});
}

// === compiles: compiles
void run(Model model, std::vector<Batch> batches, const std::vector<Batch> same, std::vector<Row> rows,
         Stream<Row> stream) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.rate(1e-3).metric(metric::CpuUse{}).schedule(CosineConfig{.steps = 10});
  learner.fit(batches, same);
  DataLoader loader(InMemory<Row>(rows), [](std::span<const Row>) { return Batch{}; }, {.batch_size = 2});
  DataLoader<Batch> keyed(share(InMemory<Row>(rows)),
                          [](std::span<const Row>, std::span<const Key>) { return Batch{}; });
  StreamLoader streamed(stream, [](std::span<const Row>) { return Batch{}; });
  learner.fit(loader, keyed);
  learner.fit(streamed);
  Evaluator(learner.result(), step).measure("all", same);
  (void)learner.predict([](const Model& m, Batch b) { return m.forward(b.inputs); }, same);
  (void)value_and_grad(model, [&](const Model& m) { return m.forward(batches[0].inputs).mean(); });
  (void)value_and_grad(
      model, [&](const auto& m) { return nn::MseLoss{}.forward(m.forward(batches[0].inputs), batches[0].targets); });
  (void)nn::Sequential(nn::Relu{}, model).forward(batches[0].inputs);
}

// === learner_of_a_data_set: DataLoader\(data set, batcher\) makes batches
void run(Model model, InMemory<Batch> set) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(set);
}

// === learner_of_a_number: Learner: the model is no module
void run(std::vector<Batch> batches) {
  const auto step = [](const double& m, const Batch& batch) { return batch.inputs.mean() * m; };
  Learner learner(1.0, AdamConfig{}, step, {.epochs = 1});
  learner.fit(batches);
}

// === learner_of_one_batch: the data are no loader or container of batches
void run(Model model, Batch batch) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batch);
}

// === learner_of_other_batches: the data are no loader or container of batches of the type that the step takes
void run(Model model, std::vector<Tensor<2>> batches) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === learner_with_a_config: a config makes one by AdamConfig\{\}.init\(model\)
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}, step, {.epochs = 1});
  learner.fit(batches);
}

// === loader_of_a_vector: put a vector into InMemory
auto loader(std::vector<Row> rows) {
  return DataLoader(rows, [](std::span<const Row> rows) { return Batch{}; });
}

// === loss_of_a_matrix: must return a Tensor<0>, the loss
auto grads(const Model& model, const Batch& batch) {
  return value_and_grad(model, [&](const Model& m) { return (m.forward(batch.inputs) - batch.targets).square(); });
}

// === loss_of_a_number: must return a Tensor<0>, the loss
auto grads(const Model& model, const Batch& batch) {
  return value_and_grad(
      model, [&](const Model& m) { return (m.forward(batch.inputs) - batch.targets).square().mean().item(); });
}

// === loss_of_nothing: must return a Tensor<0>, the loss
auto grads(const Model& model, const Batch& batch) {
  return value_and_grad(model, [&](const Model& m) { (void)m.forward(batch.inputs); });
}

// === loss_of_classes_as_floats: CrossEntropyLoss: forward.. takes no tensors of these ranks and kinds; classes are Int
Tensor<0> loss(const Model& model, const Batch& batch, Tensor<1> classes) {
  return nn::CrossEntropyLoss{}.forward(model.forward(batch.inputs), classes);
}

// === evaluator_of_a_step_without_a_loss: Evaluator: the step returns its loss
auto run(Model model) {
  return Evaluator(model, [](const Model& m, const Batch& batch) { return m.forward(batch.inputs); });
}

// === evaluator_of_other_batches: Evaluator: the data are no loader or container
void run(Model model, std::vector<Tensor<2>> batches) {
  Evaluator evaluator(model, [](const Model& m, const Batch& batch) { return m.forward(batch.inputs).mean(); });
  evaluator.measure("all", batches);
}

// === stream_of_other_items: StreamLoader: the batcher cannot be called
auto loader(Stream<Row> rows) {
  return StreamLoader(rows, [](std::span<const int> rows) { return Batch{}; });
}

// === grads_of_a_closed_model: value_and_grad: the model is no module
class Closed {
  nn::Linear linear;

 public:
  explicit Closed(nn::Linear l) : linear(l) {}
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(x); }
};
auto grads(const Closed& model, const Batch& batch) {
  return value_and_grad(model, [&](const Closed& m) { return m.forward(batch.inputs).mean(); });
}

// === learner_of_a_closed_model: Learner: the model is no module
class Closed {
  nn::Linear linear;

 public:
  explicit Closed(nn::Linear l) : linear(l) {}
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(x); }
};
void run(Model inner, Closed model, std::vector<Batch> batches) {
  const auto step = [](const Closed& m, const Batch& batch) { return m.forward(batch.inputs).mean(); };
  Learner learner(model, AdamConfig{}.init(inner), step, {.epochs = 1});
  learner.fit(batches);
}

// === loss_without_the_model: must take the model, as const Model&
auto grads(const Model& model, const Batch& batch) {
  return value_and_grad(model, [&] { return model.forward(batch.inputs).mean(); });
}

// === metric_of_other_outputs: does not take the step's output: name its fields
void run(Model model) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.metric(metric::Accuracy{});
}

// === metric_without_a_value: a metric is a plain struct with a value\(\) const
struct Bias {
  metric::Total off;
  void update(const Tensor<2>& predictions, const Tensor<2>& targets) { off += (predictions - targets).sum().item(); }
};
void run(Model model) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.metric(Bias{});
}

// === module_without_forward: no member named .forward
struct Layer {
  nn::Linear linear;
};
Tensor<2> run(Layer layer, Tensor<2> x) { return layer.forward(x); }

// === predict_of_a_number: predict: the model is no module
auto run(std::vector<Batch> batches) {
  return predict(3, [](int, const Batch& b) { return b.inputs; }, batches);
}

// === predict_of_nothing: predict: the function returns nothing
void run(Model model, std::vector<Batch> batches) {
  predict(model, [](const Model& m, const Batch& b) { (void)m.forward(b.inputs); }, batches);
}

// === predict_of_other_batches: predict: the data are no loader or container
auto run(Model model, std::vector<Tensor<2>> batches) {
  return predict(model, [](const Model& m, const Batch& b) { return m.forward(b.inputs); }, batches);
}

// === predict_of_three: predict: the function takes \(const Model&, Batch\)
auto run(Model model, std::vector<Batch> batches) {
  return predict(model, [](const Model& m, Batch b, int) { return m.forward(b.inputs); }, batches);
}

// === schedule_of_a_number: a schedule has at\(step\)
void run(Model model) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.schedule(1e-3);
}

// === sequential_without_forward: has no forward\(\) for what the one before it returns
struct Layer {
  nn::Linear linear;
};
Tensor<2> run(Tensor<2> x) { return nn::Sequential(Layer{}).forward(x); }

// === step_of_a_matrix: the step returns its loss, a Tensor<0>
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_a_number: the step returns its loss, a Tensor<0>
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean().item();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_an_optimizer_without_a_rate: step\(\) takes the rate first
void run(Model model, Adam adam, GradientsParams grads) { model = adam.step(model, grads); }

// === step_of_another_model: the step takes \(const Model&, Batch\)
struct Other {
  nn::Linear linear;
};
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Other& m, const Batch& batch) {
    return (m.linear.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_any_batch: parameters have types: .* without auto
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const auto& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_nothing: the step returns its loss, a Tensor<0>
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) { (void)m.forward(batch.inputs); };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_one: the step takes \(const Model&, Batch\)
void run(Model model, std::vector<Batch> batches) {
  const auto step = [&model](const Batch& batch) {
    return (model.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_of_three: the step takes \(const Model&, Batch\)
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch, int) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_that_changes_the_model: the step takes \(const Model&, Batch\)
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_that_is_a_number: no function whose parameters have types
void run(Model model, std::vector<Batch> batches) {
  Learner learner(model, AdamConfig{}.init(model), 3, {.epochs = 1});
  learner.fit(batches);
}

// === step_with_a_loss_of_rows: a struct with a field `loss` that is one
struct Output {
  Tensor<1> loss;
};
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) {
    return Output{(m.forward(batch.inputs) - batch.targets).square().mean(1)};
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === step_without_a_loss: a struct with a field `loss` that is one
struct Output {
  Tensor<2> predictions, targets;
};
void run(Model model, std::vector<Batch> batches) {
  const auto step = [](const Model& m, const Batch& batch) { return Output{m.forward(batch.inputs), batch.targets}; };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.fit(batches);
}

// === closed_model_counted: this type is no module: make it a plain struct
class Closed {
 public:
  explicit Closed(nn::Linear linear) : linear_(linear) {}
  Tensor<2> forward(const Tensor<2>& x) const { return linear_.forward(x); }

 private:
  nn::Linear linear_;
};
auto count(const Closed& model) { return num_params(model); }

// === closed_model_frozen: this type is no module: make it a plain struct
struct Closed {
  Closed() = default;
  nn::Linear linear;
};
auto frozen(Closed model) { return freeze(model, "linear"); }

// === closed_model_moved: this type is no module: make it a plain struct
struct Closed {
  Closed() = default;
  nn::Linear linear;
};
auto moved(Closed model, const Device& device) { return to_device(model, device); }

// === closed_model_optimized: this type is no module: make it a plain struct
struct Closed {
  Closed() = default;
  nn::Linear linear;
};
auto optimizer(const Closed& model) { return AdamConfig{}.init(model); }

// === closed_model_printed: this type is no module: make it a plain struct
struct Closed {
  Closed() = default;
  nn::Linear linear;
};
auto tree(const Closed& model) { return summary(model); }

// === closed_model_saved: this type is no module: make it a plain struct
struct Closed {
  Closed() = default;
  nn::Linear linear;
};
void keep_it(const Closed& model) { save(model, "model.safetensors"); }

// === learner_saved: a Learner is no module: pass the model that it trained, learner.result\(\)
void run(Model model) {
  const auto step = [](const Model& m, const Batch& batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  save(learner, "model.safetensors");
}

// === load_into_a_pointer: a pointer is no module: pass what it points to
void run(const std::shared_ptr<Model>& model) { load(model, "model.safetensors"); }

// === load_of_nothing: load\(path\) takes a model, which it fills: load\(path, config.init\(device\)\)
Model loaded() { return load("model.safetensors"); }

// === loss_of_other_ranks: a loss takes floats of one rank and a target like them: squeeze\(dim\)
auto loss(const Model& model, const Tensor<2>& x, const Tensor<1>& y) { return mse_loss(model.forward(x), y); }

// === sum_with_a_flag: x.sum\(dim, true\) is written x.sum\(keep, dim\)
auto sums(const Tensor<2>& x) { return x.sum(1, true); }

// === step_by_hand_of_other_types: or by hand \(Model&, Optimizer&, const StepContext&, Batch\)
struct Both {
  Adam first, second;
};
void run(Model model, Both both, std::vector<Batch> batches) {
  const auto step = [](Model& m, Both& optimizers, StepContext& context, Batch batch) {
    return (m.forward(batch.inputs) - batch.targets).square().mean();
  };
  Learner learner(model, both, step, {.epochs = 1});
  learner.fit(batches);
}

// === step_with_a_loss: step\(\) takes gradients: auto \[loss, grads\] = value_and_grad
void run(Model model, Adam adam, const Tensor<0>& loss) { model = adam.step(0.1, std::move(model), loss); }

// === tensor_by_brackets: x\[i\] is written x\(i\) here
auto row(const Tensor<2>& x) { return x[0]; }

// === tensor_saved: a tensor is no module: make it a field of a struct
void keep_it(const Tensor<2>& x) { save(x, "x.safetensors"); }

// === tensor_to_a_device: to\(device\) is written to_device\(device\) here
auto moved(const Tensor<2>& x, const Device& device) { return x.to(device); }
