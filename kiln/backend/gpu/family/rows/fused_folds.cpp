// Fused programs that reduce their results: each element is computed once, and what is reduced is never stored.
#include <algorithm>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/backend/gpu/family/rows/folding.hpp"
#include "kiln/ops/expression/program.hpp"

namespace kiln::gpu::family {
namespace {

using op::Program;

struct FusedFoldKernel {
  ProgramKey program;
  std::vector<op::ReduceFn> fns;
  std::vector<std::uint16_t> folded;  // the steps that are reduced
  FoldShape shape{};

  std::vector<Reduction> all() const {
    std::vector<Reduction> reductions;
    for (std::size_t i = 0; i < fns.size(); ++i)
      reductions.push_back({fns[i], program.program->steps[folded[i]].dtype});
    return reductions;
  }
  /// The type in which the number of folded elements is passed.
  DType counted() const {
    const std::vector<DType> states = accumulators(all());
    return std::ranges::all_of(states, [](DType each) { return each == DType::F32; }) ? DType::F32 : DType::F64;
  }
  Kernel kernel() const {
    const Program& p = *program.program;
    const std::vector<Reduction> reduced = all();
    const std::vector<DType> state = accumulators(reduced);
    std::vector<DType> outputs;
    for (const std::uint16_t step : p.outputs) outputs.push_back(p.steps[step].dtype);
    Builder k("fused_fold", Folder::kThreads);
    Folder folder(k, shape, p.inputs, outputs, state);
    std::vector<Buffer> results;
    for (std::size_t i = 0; i < fns.size(); ++i)
      results.push_back(k.output(expr::result_type(p, {folded[i], fns[i], {}})));
    const Expr count = k.number(counted());
    folder.run(
        reductions(k, reduced),
        [&](const Exprs& loaded) {
          const std::vector<Expr> made = steps(k, p, loaded);
          Exprs all;
          for (const std::uint16_t step : folded) all.push_back(made[step]);
          for (const std::uint16_t step : p.outputs) all.push_back(made[step]);
          return all;
        },
        [&](const Exprs& all, const Expr& at) {
          for (std::size_t i = 0; i < results.size(); ++i)
            results[i].store(at, finished(k, reduced[i], all[i], count.as(state[i]), results[i].dtype()));
        });
    return k.finish();
  }
};

}  // namespace

void run_folds(Gpu& gpu, const Program& program, Call call) {
  using Made = std::shared_ptr<const FusedFoldKernel>;
  const Made& kernel = program.cached<Made>(gpu.id(), [&] {
    FusedFoldKernel made{ProgramKey(program), {}, {}};
    for (const Program::Fold& fold : program.folds) {
      made.fns.push_back(fold.fn);
      made.folded.push_back(fold.step);
    }
    return std::make_shared<const FusedFoldKernel>(std::move(made));
  });
  FoldCall folds{.shape = program.shape};
  double count = 1;
  for (const std::int64_t dim : program.folds[0].dims) {
    folds.dims.push_back(dim);
    count *= static_cast<double>(program.shape[static_cast<int>(dim)]);
  }
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Value& value = call.in[i];
    if (value.node()) folds.inputs.push_back({.array = read(value)});
    else folds.inputs.push_back({.number = Argument(value.scalar(), program.inputs[i])});
  }
  std::vector<Argument> results;
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    const Array array = gpu.allocate(call.out[i]);
    if (i < program.outputs.size()) {
      folds.outputs.push_back(array);
    } else {
      results.emplace_back(array);
      folds.result = array;
    }
  }
  results.emplace_back(Scalar(count), kernel->counted());
  fold(gpu, *kernel, folds, accumulators(kernel->all()), results);
}

}  // namespace kiln::gpu::family
