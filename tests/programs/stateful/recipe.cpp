// Random networks as data.
#include <algorithm>

#include "tests/programs/stateful/network.hpp"

namespace kiln::stateful {
namespace {

constexpr std::int64_t kWidths[] = {1, 3, 4, 8, 8, 12, 16, 16, 17, 32};
constexpr std::int64_t kMostProducts = 250'000;  // of one layer and one example: the plain kernels are to be quick

class Author {
 public:
  explicit Author(Random& random) : random_(random) {
    recipe_.is_light = one_in(8);
    if (recipe_.is_light) most_products_ /= 16;
  }

  Recipe write() {
    begin();
    const auto wanted = 2 + below(4);
    for (std::int64_t written = 0; written < wanted;) written += add_layer();
    become_vector();
    add_head();
    return std::move(recipe_);
  }

 private:
  enum class Form : std::uint8_t { Vector, Sequence, Channels };  // [width], [time, width], [channels, sizes...]

  std::int64_t below(std::int64_t limit) { return random_.below(limit); }
  bool one_in(std::int64_t n) { return below(n) == 0; }
  std::int64_t some_width() { return kWidths[below(std::size(kWidths))]; }

  std::int64_t width() const { return form_ == Form::Channels ? shape_[0] : shape_.back(); }
  std::int64_t sizes() const { return numel(shape_) / shape_[0]; }

  void begin() {
    const std::int64_t dice = below(100);
    if (dice < 42) shape_ = {some_width(), 3 + below(7), 3 + below(7)};
    else if (dice < 54) shape_ = {some_width(), 3 + below(12)};
    else if (dice < 60) shape_ = {some_width(), 2 + below(4), 3 + below(3), 3 + below(3)};
    else if (dice < 74) shape_ = {some_width()};
    else shape_ = {2 + below(5), some_width()};
    form_ = dice < 60 ? Form::Channels : dice < 74 ? Form::Vector : Form::Sequence;
    recipe_.example = shape_;
    if (dice < 87) return;
    recipe_.tokens = 5 + below(15);
    recipe_.example = {shape_[0]};
    push({.kind = Kind::Embedding, .in = recipe_.tokens, .out = width()}, shape_);
  }

  void push(const LayerRecipe& layer, const Shape& shape) {
    const bool same = shape == shape_;
    recipe_.uses.push_back({recipe_.layers.size(), same && !recipe_.layers.empty() && one_in(6)});
    recipe_.layers.push_back(layer);
    shape_ = shape;
    if (!same || layer.kind > Kind::Mlp || !one_in(3)) return;
    // The same layer once more, sometimes with a function between.
    const std::size_t again = recipe_.layers.size() - 1;
    if (one_in(2)) push({.kind = some_function()}, shape_);
    recipe_.uses.push_back({again, one_in(4)});
  }

  Kind some_function() {
    constexpr Kind kFunctions[] = {Kind::Relu, Kind::Gelu, Kind::Silu, Kind::Sigmoid, Kind::Tanh, Kind::Softmax};
    const std::int64_t dice = below(16);
    return kFunctions[dice < 15 ? dice % 5 : 5];
  }

  bool add_layer() {
    const std::int64_t dice = below(100);
    if (dice < 18) return push({.kind = some_function()}, shape_), true;
    if (dice < 24) return push({.kind = Kind::Dropout, .probability = 0.25}, shape_), true;
    switch (form_) {
      case Form::Channels: return add_to_channels(dice);
      case Form::Sequence: return add_to_sequence(dice);
      case Form::Vector: return add_to_vector(dice);
    }
    return false;
  }

  bool add_to_channels(std::int64_t dice) {
    if (dice < 68) return add_conv(false);
    if (dice < 75) return add_conv(true);
    if (dice < 82) return add_pool();
    if (dice < 90) return add_of_width(Kind::BatchNorm);
    if (dice < 95) return add_group_norm();
    if (shape_.size() == 2 && sizes() <= 8) {
      push({.kind = Kind::ToSequence}, {shape_[1], shape_[0]});
      form_ = Form::Sequence;
      return true;
    }
    return false;
  }

  bool add_conv(bool transposed) {
    LayerRecipe layer{.kind = transposed ? Kind::ConvTranspose : Kind::Conv, .dimensions = shape_.size() - 1};
    layer.in = shape_[0];
    layer.out = one_in(2) ? layer.in : some_width();
    layer.kernel = 1 + below(5);
    layer.stride = one_in(4) ? 2 + below(2) : 1;
    layer.dilation = one_in(4) ? 2 : 1;
    layer.padding = one_in(3) ? below(3) : layer.dilation * (layer.kernel - 1) / 2;
    layer.bias = !one_in(4);
    if (one_in(4)) {
      const std::int64_t groups[] = {2, 4, layer.in};
      layer.groups = groups[below(3)];
      if (layer.in % layer.groups || layer.out % layer.groups) layer.groups = 1;
    }
    Shape shape{layer.out};
    const std::int64_t span = layer.dilation * (layer.kernel - 1);
    std::int64_t products = layer.in / layer.groups * layer.out;
    for (int i = 1; i < shape_.size(); ++i) {
      const std::int64_t size = transposed ? (shape_[i] - 1) * layer.stride - 2 * layer.padding + span + 1
                                           : (shape_[i] + 2 * layer.padding - span - 1) / layer.stride + 1;
      if (size < 1 || (!transposed && shape_[i] + 2 * layer.padding <= span) || size > 14) return false;
      shape.push_back(size);
      products *= layer.kernel * (transposed ? shape_[i] : size);
    }
    if (products > most_products_) return false;
    push(layer, shape);
    return true;
  }

  bool add_pool() {
    LayerRecipe layer{.kind = one_in(2) ? Kind::MaxPool : Kind::AvgPool, .dimensions = shape_.size() - 1};
    layer.kernel = 2 + below(2);
    layer.stride = 1 + below(3);
    layer.padding = below(2);
    Shape shape{shape_[0]};
    for (int i = 1; i < shape_.size(); ++i) {
      if (shape_[i] + 2 * layer.padding < layer.kernel) return false;
      shape.push_back((shape_[i] + 2 * layer.padding - layer.kernel) / layer.stride + 1);
    }
    push(layer, shape);
    return true;
  }

  bool add_of_width(Kind kind) {
    push({.kind = kind, .in = width(), .out = width()}, shape_);
    return true;
  }

  // Of a single element a norm makes 0, and of rounding errors what you like.
  bool add_group_norm() {
    LayerRecipe layer{.kind = Kind::GroupNorm, .in = shape_[0], .out = shape_[0]};
    layer.groups = layer.in % 4 == 0 && one_in(2) ? 4 : 1;
    if (numel(shape_) / layer.groups < 4) return false;
    push(layer, shape_);
    return true;
  }

  bool add_to_sequence(std::int64_t dice) {
    if (dice < 44) return add_attention();
    if (dice < 56) return add_recurrent(Kind::Lstm);
    if (dice < 66) return add_recurrent(Kind::Gru);
    if (dice < 72) return add_of_width(Kind::Mlp);
    if (dice < 90) return add_linear();
    return width() >= 3 && add_of_width(dice < 95 ? Kind::LayerNorm : Kind::RmsNorm);
  }

  bool add_attention() {
    LayerRecipe layer{.kind = Kind::Attention, .in = width(), .out = width()};
    const std::int64_t heads[] = {1, 2, 4};
    layer.groups = heads[below(3)];
    layer.causal = one_in(2);
    if (one_in(3)) layer.probability = 0.25;
    if (layer.in % layer.groups || shape_[0] * layer.in * layer.in * 4 > most_products_) return false;
    push(layer, shape_);
    return true;
  }

  bool add_recurrent(Kind kind) {
    const std::int64_t out = one_in(2) ? width() : some_width();
    if (shape_[0] * 4 * out * (out + width()) > most_products_) return false;
    push({.kind = kind, .in = width(), .out = out}, {shape_[0], out});
    return true;
  }

  bool add_linear() {
    const std::int64_t out = one_in(2) ? width() : some_width();
    Shape shape = shape_;
    shape[shape.size() - 1] = out;
    push({.kind = Kind::Linear, .in = width(), .out = out, .bias = !one_in(4)}, shape);
    return true;
  }

  bool add_to_vector(std::int64_t dice) {
    if (dice < 30) return add_of_width(Kind::Mlp);
    if (dice < 80) return add_linear();
    if (dice < 90) return add_of_width(Kind::BatchNorm);
    return width() >= 3 && add_of_width(dice < 95 ? Kind::LayerNorm : Kind::RmsNorm);
  }

  void become_vector() {
    if (form_ == Form::Vector) return;
    if (numel(shape_) <= 300 && one_in(3)) push({.kind = Kind::Flatten}, {numel(shape_)});
    else if (form_ == Form::Channels) push({.kind = one_in(2) ? Kind::MeanOfSizes : Kind::AdaptivePool}, {shape_[0]});
    else push({.kind = one_in(2) ? Kind::MeanOfTime : Kind::LastMoment}, {shape_[1]});
    form_ = Form::Vector;
  }

  void add_head() {
    constexpr Loss kLosses[] = {Loss::CrossEntropy, Loss::CrossEntropy, Loss::Smoothed, Loss::Mse, Loss::Energy};
    const bool ties = recipe_.tokens && recipe_.layers[0].out == width() && one_in(2);
    const std::int64_t out = ties ? recipe_.tokens : 2 + below(5);
    push({.kind = ties ? Kind::Tied : Kind::Linear, .in = width(), .out = out}, {out});
    recipe_.width = out;
    recipe_.loss = kLosses[below(std::size(kLosses))];
  }

  Random& random_;
  std::int64_t most_products_ = kMostProducts;
  Recipe recipe_;
  Shape shape_;
  Form form_ = Form::Vector;
};

constexpr const char* kNames[] = {"linear",
                                  "conv",
                                  "conv_transpose",
                                  "batch_norm",
                                  "group_norm",
                                  "layer_norm",
                                  "rms_norm",
                                  "attention",
                                  "lstm",
                                  "gru",
                                  "mlp",
                                  "embedding",
                                  "max_pool",
                                  "avg_pool",
                                  "dropout",
                                  "relu",
                                  "gelu",
                                  "silu",
                                  "sigmoid",
                                  "tanh",
                                  "softmax",
                                  "flatten",
                                  "mean of sizes",
                                  "adaptive average",
                                  "to sequence",
                                  "mean of time",
                                  "last moment",
                                  "tied to the embedding"};
constexpr const char* kLosses[] = {"cross entropy", "cross entropy with smoothing", "mse", "mean square"};

}  // namespace

Recipe random_recipe(Random& random) { return Author(random).write(); }

std::string describe(const Recipe& recipe) {
  std::string out = text("inputs [batch, ", recipe.example, "]");
  if (recipe.tokens) out += text(" of indices below ", recipe.tokens);
  out += '\n';
  std::vector<bool> met(recipe.layers.size());
  for (const Use& use : recipe.uses) {
    const LayerRecipe& layer = recipe.layers[use.layer];
    out += text("  layers.", use.layer, use.residual ? ", added to its input: " : ": ",
                kNames[static_cast<std::size_t>(layer.kind)]);
    if (met[use.layer]) {
      out += ", again\n";
      continue;
    }
    met[use.layer] = true;
    if (layer.dimensions) out += text(" ", layer.dimensions, "d");
    if (layer.in) out += text(" ", layer.in, " -> ", layer.out);
    if (layer.kernel != 1) out += text(", kernel ", layer.kernel);
    if (layer.stride != 1) out += text(", stride ", layer.stride);
    if (layer.padding != 0) out += text(", padding ", layer.padding);
    if (layer.dilation != 1) out += text(", dilation ", layer.dilation);
    if (layer.groups != 1) out += text(layer.kind == Kind::Attention ? ", heads " : ", groups ", layer.groups);
    if (!layer.bias) out += ", no bias";
    if (layer.causal) out += ", causal";
    if (layer.probability != 0) out += text(", dropout ", layer.probability);
    out += '\n';
  }
  return out + text("  loss: ", kLosses[static_cast<std::size_t>(recipe.loss)], " of [batch, ", recipe.width, "]\n");
}

}  // namespace kiln::stateful
