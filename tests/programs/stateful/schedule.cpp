#include "tests/programs/stateful/schedule.hpp"

#include <algorithm>

namespace kiln::stateful {
namespace {

struct Weighted {
  Action action;
  int weight;
};
constexpr Weighted kActions[] = {{Action::Train, 30},    {Action::TwoForwards, 8},   {Action::Accumulate, 8},
                                 {Action::Again, 6},     {Action::InputGradient, 8}, {Action::Penalty, 10},
                                 {Action::Evaluate, 14}, {Action::Share, 6},         {Action::Copy, 5},
                                 {Action::Blend, 4},     {Action::Save, 5},          {Action::ReadAll, 4}};

Action some_action(Random& random) {
  int all = 0;
  for (const Weighted& each : kActions) all += each.weight;
  auto dice = random.below(all);
  for (const Weighted& each : kActions) {
    dice -= each.weight;
    if (dice < 0) return each.action;
  }
  return Action::Train;
}

void choose_types(Program& program, Random& random) {
  const auto dice = random.below(100);
  if (dice < 42) return;
  if (dice < 52) program.dtype = DType::F64;
  else if (dice < 66) program.dtype = DType::BF16;
  else if (dice < 76) program.dtype = DType::F16;
  else program.autocast = dice < 90 ? DType::BF16 : DType::F16;
}

const char* name_of(Action action) {
  constexpr const char* kNames[] = {"train",
                                    "two forwards, one backward",
                                    "accumulate three batches",
                                    "differentiate twice",
                                    "differentiate by the inputs",
                                    "gradient penalty",
                                    "evaluate",
                                    "evaluate on threads",
                                    "copy",
                                    "blend",
                                    "save and load",
                                    "read what waits"};
  return kNames[static_cast<std::size_t>(action)];
}

}  // namespace

Program make_program(std::uint64_t seed) {
  Random random(Key{seed}.split(7));
  Program program{.seed = seed, .recipe = random_recipe(random)};
  choose_types(program, random);
  program.fused = random.below(4) != 0;
  program.rule = static_cast<Rule>(random.below(4));
  const bool normed = std::ranges::any_of(program.recipe.layers,
                                          [](const LayerRecipe& layer) { return layer.kind == Kind::BatchNorm; });
  Random frost(Key{seed}.split(8));
  const auto count = 3 + random.below(8);
  for (std::int64_t i = 0; i < count; ++i) {
    Step step{.action = some_action(random)};
    if (i == 0 && random.below(2)) step.action = Action::Evaluate;
    const bool by_inputs = step.action == Action::InputGradient || step.action == Action::Penalty;
    if (by_inputs && program.recipe.tokens) step.action = Action::Train;
    step.learner = random.below(3) == 0;
    step.other = 1 - step.learner;
    step.batch = (normed ? 3 : 1) + random.below(4);  // of two, a batch norm makes 1 and -1
    if (program.recipe.is_light) step.batch *= 16;
    step.reading = static_cast<Reading>(random.below(3));
    step.threads = 1 + static_cast<int>(random.below(3));
    step.readers = 2 + static_cast<int>(random.below(2));
    if (random.below(5) == 0)
      step.split = static_cast<std::size_t>(random.below(static_cast<std::int64_t>(program.recipe.uses.size())));
    step.balanced = random.below(5) == 0;
    step.clipped = random.below(5) == 0;
    step.flushed = random.below(5) == 0;
    step.on_disk = random.below(2) == 0;
    step.scaled = program.dtype != DType::F64 && random.below(4) == 0;
    step.unrecorded = random.below(3) != 0;
    step.rate = random.below(4) == 0 ? 0.0625 : 0.015625;
    step.seed = seed * 100 + static_cast<std::uint64_t>(random.below(3));  // some batches come again
    step.thaws = frost.below(8) == 0;
    program.steps.push_back(step);
  }
  return program;
}

std::string describe(const Step& step) {
  constexpr const char* kReadings[] = {"read at once", "read later", "never read"};
  std::string out = text(step.thaws ? "freeze or thaw, " : "", name_of(step.action), ": model ", step.learner);
  if (step.action == Action::ReadAll) return name_of(step.action);
  if (step.action == Action::Copy || step.action == Action::Blend) return text(out, " to model ", step.other);
  if (step.action == Action::Save) return text(out, step.on_disk ? " on disk" : " in memory");
  out += text(", batch ", step.batch, " of seed ", step.seed, ", ", kReadings[static_cast<std::size_t>(step.reading)],
              ", machine threads ", step.threads);
  if (step.action == Action::Share) return text(out, ", ", step.readers, " readers");
  if (step.action == Action::Evaluate) return text(out, step.unrecorded ? ", NoGrad" : ", recorded");
  if (step.split < 99) out += text(", checkpoint from use ", step.split, " on");
  if (step.balanced) out += ", Checkpointing::Balanced";
  if (step.scaled && step.action == Action::Train) out += ", scaled";
  if (step.clipped) out += ", clipped";
  if (step.flushed) out += ", flushed";
  return text(out, ", rate ", step.rate);
}

std::string describe(const Program& program) {
  constexpr const char* kRules[] = {"Sgd", "Sgd with momentum", "Adam", "AdamW"};
  std::string out = text("seed ", program.seed, ": ", describe(program.recipe), "  parameters ", program.dtype);
  if (program.autocast != DType::F32) out += text(", Autocast ", program.autocast);
  out += text(program.fused ? ", fused, " : ", not fused, ", kRules[static_cast<std::size_t>(program.rule)], '\n');
  for (std::size_t i = 0; i < program.steps.size(); ++i)
    out += text("  step ", i, ": ", describe(program.steps[i]), '\n');
  return out;
}

}  // namespace kiln::stateful
