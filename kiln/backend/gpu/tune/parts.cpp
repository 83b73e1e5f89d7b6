#include "kiln/backend/gpu/tune/parts.hpp"

#include <array>
#include <memory>

#include "kiln/backend/gpu/family/choice.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/expand.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::gpu {
namespace {

/// Calls of operations with the same names, with rows and operands that are alike in their sizes' digits, and operands that
/// lie alike in memory: with which of them neighbours are neighbours, and which are repeated.
std::string question_of(const op::Op& op, const op::RowFused& as, const Call& call) {
  std::string all = text("rows of ", op::display_name(op), " in 2^", family::digits_of(as.rows));
  for (const Value& value : call.in) {
    if (!value.node()) continue;
    all += text(", ", value.dtype());
    const Array array = read(value);
    for (int i = 0; i < array.shape.size(); ++i) {
      const std::int64_t step = array.strides[i];
      all += text(" 2^", family::digits_of(array.shape[i]), step == 0 ? " repeated" : step == 1 ? "" : " apart");
    }
  }
  return all;
}

/// A call of the same operands, which keep their memory, with results of its own.
struct Trial {
  Values in, out;
  explicit Trial(const Call& call) : in(call.in.begin(), call.in.end()) {
    for (const Value& value : call.out) out.emplace_back(make_ref<Node>(value.node()->desc, value.device()));
  }
  Call call() { return {in, out}; }
};

/// The key by which the answer is kept. A plan's calls have sizes in common, and their operands may lie in many ways.
struct Question {
  std::string text;
};

}  // namespace

bool parts_are_quicker(Gpu& gpu, const op::Op& op, const op::RowFused& as, const Call& call,
                       FunctionRef<bool(Call)> fused) {
  const Question question{question_of(op, as, call)};
  return gpu.made<bool>(question, [&] {
    static const std::array<std::string, 2> kWays{"fused", "parts"};
    const int way = gpu.choices().choose(question.text, kWays, [&](int i) {
      Trial trial(call);
      try {
        if (i == 0) return fused(trial.call());
        run_expansion(gpu, op, trial.call());
        return true;
      } catch (const Refused&) {
      } catch (const MemoryError&) {  // there is no room for other results
      }
      return false;
    });
    return std::make_shared<const bool>(way == 1);
  });
}

}  // namespace kiln::gpu
