// Whatever is returned and stored nowhere else: each line that ends in "dropped" must not compile under -Werror=unused-result,
// and no other line may fail. check.cmake counts.
#include <kiln/kiln.hpp>
#include <kiln/nn.hpp>

#include "kiln/data/compose/chosen.hpp"
#include "kiln/data/compose/kept.hpp"
#include "kiln/data/compose/sections.hpp"
#include "kiln/data/picture/geometry.hpp"
#include "kiln/nn/adapt/adapted.hpp"
#include "kiln/nn/module/average.hpp"
#include "kiln/nn/module/functional.hpp"
#include "kiln/nn/norm/sync_batch_norm.hpp"
#include "kiln/nn/prepare/label_encoder.hpp"
#include "kiln/nn/prepare/scaler.hpp"
#include "kiln/optim.hpp"
#include "kiln/optim/lbfgs.hpp"
#include "kiln/rl/agents/parts.hpp"
#include "kiln/store/save.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/still.hpp"
#include "kiln/vision/draw.hpp"
#include "kiln/vision/transform2d.hpp"

using namespace kiln;

struct Model {
  nn::Linear linear;
  Tensor<2> forward(const Tensor<2>& x) const { return linear.forward(x); }
};

void tensors(Tensor<2> x, Tensor<2> y, const Device& device) {
  x.relu();                            // dropped
  x + y;                               // dropped
  x* y;                                // dropped
  -x;                                  // dropped
  x.matmul(y);                         // dropped
  x.sum();                             // dropped
  x.reshape(4, 1);                     // dropped
  x.require_grad();                    // dropped
  x.detach();                          // dropped
  x.to(DType::F16);                    // dropped
  x.to_device(device);                 // dropped
  softmax(x, 1);                       // dropped
  mse_loss(x, y);                      // dropped
  zeros({2, 2}, device);               // dropped
  (x - y).square().mean().backward();  // dropped
  x = x.relu();
}

void models(Model model, const Device& device) {
  train(model);                                                                     // dropped
  valid(model);                                                                     // dropped
  with_mode(model, nn::Mode::Valid);                                                // dropped
  with_mode<nn::Dropout>(model, nn::Mode::Valid);                                   // dropped
  freeze(model, Selector("linear"));                                                // dropped
  unfreeze(model);                                                                  // dropped
  still(model);                                                                     // dropped
  to_device(model, device);                                                         // dropped
  adapted(model);                                                                   // dropped
  load("model.safetensors", model);                                                 // dropped
  with_values(model, values_of(model));                                             // dropped
  map_params(model, [](const std::string&, const Value& value) { return value; });  // dropped
  nn::ScalerConfig{}.fit(zeros({2, 2}, device));                                    // dropped
  nn::LabelEncoderConfig{.classes = 1}.fit({}, device);                             // dropped
  adapted(model).merged();                                                          // dropped
  LoraConfig{}.init(model);                                                         // dropped
  nn::sync_batch_norm(model, alone());                                              // dropped
  !Selector("linear");                                                              // dropped
  Selector("a") || Selector("b");                                                   // dropped
  model = train(std::move(model));
  load(model, "model.safetensors");
}

void gradients(Model model, Adam adam, Lbfgs lbfgs, GradientsAccumulator accumulator, GradientScaler scaler,
               WeightAverage average, GradientsParams grads, Gradients all, Tensor<2> x, Tensor<0> loss) {
  const auto loss_of = [&](const Model& m) { return m.forward(x).mean(); };
  value_and_grad(model, loss_of);       // dropped
  adam.step(0.1, model, grads);         // dropped
  adam.step(Rates{0.1}, model, grads);  // dropped
  adam.averaged(model);                 // dropped
  lbfgs.step(1, model, loss_of);        // dropped
  clip_by_global_norm(grads, 1);        // dropped
  clip_by_norm(grads, 1);               // dropped
  clip_by_value(grads, 1);              // dropped
  accumulator.mean();                   // dropped
  accumulator.sum();                    // dropped
  scaler.scale(loss);                   // dropped
  scaler.unscale(grads);                // dropped
  average.apply(model);                 // dropped
  EmaConfig{}.init(model);              // dropped
  AdamConfig{}.init(model);             // dropped
  all.of(x);                            // dropped
  average.update(model);
  model = adam.step(0.1, std::move(model), grads);
}

void schedules(Schedule<CosineConfig> schedule) {
  schedule.next();                               // dropped
  CosineConfig{.steps = 10}.at(3);               // dropped
  CosineConfig{.steps = 10}.init();              // dropped
  PerGroupConfig{.groups = {}}.at(3);            // dropped
  ReduceOnPlateauConfig{}.init();                // dropped
  AnySchedule(CosineConfig{.steps = 10}).at(3);  // dropped
}

void records(const TensorFileView& record, Model model, metric::Accuracy accuracy, const nn::Param<1>& weight) {
  from_record(record, model, "a record");  // dropped
  metric::fresh(accuracy);                 // dropped
  weight.with_frozen(true);                // dropped
  rl::moved_towards(model, model, 0.1);    // dropped
}

void pictures(const Picture& picture) {
  crop(picture, 0, 0, 1, 1);                    // dropped
  mirrored(picture);                            // dropped
  vision::draw_boxes(picture, {});              // dropped
  vision::Transform2D::rotation(15).inverse();  // dropped
}

void data(DatasetPtr<int> set) {
  shuffled(set, 1);                            // dropped
  subset(set, {1, 2});                         // dropped
  mapped(set, [](int x) { return x + 1; });    // dropped
  filtered(set, [](int x) { return x > 1; });  // dropped
  split(set, {1, 2}, 1);                       // dropped
  windows(set, {.size = 2});                   // dropped
  cached(set);                                 // dropped
  concatenated(set, set);                      // dropped
}
