// What a stateful random program trains: a network as data, and the module that is made from it.
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "kiln/nn.hpp"

namespace kiln::stateful {

enum class Kind : std::uint8_t {
  // with parameters
  Linear,
  Conv,
  ConvTranspose,
  BatchNorm,
  GroupNorm,
  LayerNorm,
  RmsNorm,
  Attention,
  Lstm,
  Gru,
  Mlp,
  Embedding,
  // without
  MaxPool,
  AvgPool,
  Dropout,
  Relu,
  Gelu,
  Silu,
  Sigmoid,
  Tanh,
  Softmax,
  // another form of the same: [channels, sizes...] or [time, width] as a vector, [channels, length] as [time, width]
  Flatten,
  MeanOfSizes,
  AdaptivePool,  // the same by the layer of that name
  ToSequence,
  MeanOfTime,
  LastMoment,
  Tied,  // a product with the transposed table of layer 0, an Embedding
};

struct LayerRecipe {
  Kind kind;
  int dimensions = 0;  // spatial ones, of convolutions and pools
  std::int64_t in = 0, out = 0;
  std::int64_t kernel = 1, stride = 1, padding = 0, dilation = 1;
  std::int64_t groups = 1;  // or heads
  bool bias = true, causal = false;
  double probability = 0;  // of dropout
};

struct Use {
  std::size_t layer;
  bool residual = false;  // x + layer(x)
};

enum class Loss : std::uint8_t { CrossEntropy, Smoothed, Mse, Energy };

struct Recipe {
  Shape example;            // the shape of one input
  std::int64_t tokens = 0;  // inputs are indices below this; 0: they are numbers
  std::vector<LayerRecipe> layers{};
  std::vector<Use> uses{};  // in the order of their use; a layer may be used more than once
  std::int64_t width = 0;   // of the result: [batch, width]
  Loss loss = Loss::Mse;
  bool is_light = false;  // so little work that batches may be large, and their work be cut for threads
};

Recipe random_recipe(Random& random);
std::string describe(const Recipe& recipe);

// ---- the module ----------------------------------------------------------------------------------------------------

/// Group norm, RMS norm and a gated recurrent unit (Cho et al., 2014) as users write them.
struct GroupNorm {
  nn::Param<1> weight, bias;
  std::int64_t groups = 1;
};
struct RmsNorm {
  nn::Param<1> weight;
};
struct Gru {
  nn::Linear input, hidden;  // in -> 3 width, width -> 3 width: reset, update, candidate
};
struct Attention {
  nn::MultiHeadAttention heads;
  bool causal = false;
};
using Mlp = nn::Sequential<nn::Linear, nn::Gelu, nn::Linear>;
/// What has no parameters.
struct Plain {
  LayerRecipe recipe{.kind = Kind::Relu};
};

using Layer = std::variant<Plain, nn::Linear, nn::Conv1d, nn::Conv2d, nn::Conv3d, nn::ConvTranspose1d,
                           nn::ConvTranspose2d, nn::ConvTranspose3d, nn::BatchNorm, GroupNorm, nn::LayerNorm, RmsNorm,
                           Attention, nn::Lstm, Gru, Mlp, nn::Embedding, nn::Dropout>;

struct Network {
  std::vector<Layer> layers;
};

/// Parameters and buffers are numbers that any float type holds exactly, the same ones on every device, drawn from
/// `key`; each is made larger or smaller by up to `perturbation` of itself. Buffers of halves are float32.
Network make(const Recipe& recipe, const Device& device, DType dtype, Key key, double perturbation = 0);
/// Numbers that any float type holds exactly, about `scale` away from `centre`.
TensorData exact_numbers(const Shape& shape, double centre, double scale, Key key, double perturbation = 0);

/// [batch, width]; uses [split, end) run in a checkpoint.
Value forward(const Recipe& recipe, const Network& network, Value x, std::size_t split);

}  // namespace kiln::stateful
