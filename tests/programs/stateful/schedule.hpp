// What happens to a network, as data: a stateful random program is a recipe and a schedule, both made from a seed.
#pragma once
#include <optional>

#include "tests/programs/stateful/network.hpp"

namespace kiln::stateful {

enum class Action : std::uint8_t {
  Train,          // one step of the optimizer
  TwoForwards,    // two batches forwards, then one backward of both losses, then a step
  Accumulate,     // the gradients of three batches of different sizes added up, then a step
  Again,          // the gradients of one loss, twice
  InputGradient,  // the gradient of the loss by its inputs
  Penalty,        // the loss and the square of that gradient, differentiated by the parameters, then a step
  Evaluate,       // the model as it is to be used
  Share,          // the same by several threads at once
  Copy,           // the model and its optimizer become another one
  Blend,          // another model moves towards this one
  Save,           // the model and its optimizer are saved and loaded into fresh ones
  ReadAll,        // what was to be read later is read now
};

/// When a step's results are read.
enum class Reading : std::uint8_t { Early, Late, Never };

struct Step {
  Action action;
  int learner = 0, other = 0;  // there are two, a model and its optimizer each
  std::int64_t batch = 3;
  Reading reading = Reading::Late;
  int threads = 1;         // of the machine from here on
  int readers = 2;         // of Share
  std::size_t split = 99;  // from this use on in a checkpoint
  bool balanced = false, clipped = false, flushed = false, on_disk = false, unrecorded = false;
  bool scaled = false;  // the loss, by a GradientScaler
  bool thaws = false;   // before it, what has one dimension is frozen, or trained again if it was
  double rate = 0.015625;
  std::uint64_t seed = 0;  // of the batch and of dropout
};

enum class Rule : std::uint8_t { Sgd, Momentum, Adam, AdamW };

struct Program {
  std::uint64_t seed = 0;
  Recipe recipe{};
  DType dtype = DType::F32;     // of the parameters
  DType autocast = DType::F32;  // F32: none
  bool fused = true;
  Rule rule = Rule::Sgd;
  std::vector<Step> steps{};
};

Program make_program(std::uint64_t seed);
/// Readable lines: the network, and one for each step, with its number.
std::string describe(const Program& program);
std::string describe(const Step& step);

}  // namespace kiln::stateful
