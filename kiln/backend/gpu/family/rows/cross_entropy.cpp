// The cross entropy of rows, in one pass over the logits.
#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/power_sum.hpp"

namespace kiln::gpu::family {
namespace {

struct CrossEntropyKernel {
  DType dtype, result, target, report_as;
  FoldShape shape{};

  DType type() const { return expr::computed_in(dtype); }
  std::array<DType, 2> state() const { return {type(), type()}; }
  Kernel kernel() const {
    Builder k("cross_entropy", Folder::kThreads);
    Folder folder(k, shape, std::array{dtype}, {}, state());
    const Buffer logits = k.input(dtype), targets = k.input(target), losses = k.output(result);
    const Buffer largest = k.output(type()), log_sum = k.output(type());
    const Buffer cell = k.both(report_as);
    const Expr classes = k.number(DType::I64), row_stride = k.number(DType::I64), class_stride = k.number(DType::I64);
    folder.run(
        power_sum(k, type()), [](const Exprs& loaded) { return loaded; },
        [&](const Exprs& all, const Expr& at) {
          const Expr row = at.as(DType::I64), chosen = targets[at].as(DType::I64);
          const Expr of_total = k.call("log", type(), {counted(all)});
          largest.store(at, all[0]);
          log_sum.store(at, of_total);
          k.when((chosen >= 0) & (chosen < classes),
                 [&] {
                   const Expr logit = logits[row * row_stride + chosen * class_stride];
                   losses.store(at, of_total - (logit - all[0]));
                 },
                 [&] {
                   losses.store(at, k.literal(type(), NAN));
                   report(cell, row);
                 });
        });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::CrossEntropy&, Call call) {
  const Array logits = read(call.in[op::CrossEntropy::logits]);
  Value held;
  const Array targets = gpu.read_contiguous(call.in[op::CrossEntropy::targets], held);
  using op::CrossEntropy;
  const Array losses = gpu.allocate(call.out[CrossEntropy::losses]),
              log_sum = gpu.allocate(call.out[CrossEntropy::log_sum]);
  Array largest = gpu.allocate(call.out[CrossEntropy::largest]);
  largest.shape.push_back(1);
  largest.strides.push_back(1);
  const Value cell = gpu.check_cell(targets.numel());
  const std::int64_t classes = logits.shape[1];
  const CrossEntropyKernel kernel{logits.dtype, losses.dtype, targets.dtype, cell.dtype()};
  fold(gpu, kernel, {.shape = logits.shape, .dims = {1}, .inputs = {{logits}}, .result = largest}, kernel.state(),
       {logits, targets, losses, largest, log_sum, read(cell), classes, logits.strides[0], logits.strides[1]});
  gpu.check(cell, call,
            [kept = KeptOperand(call.in[op::CrossEntropy::targets]), function = CalledAs::function(),
             classes](std::int64_t found) {
              return wrong<IndexError>(function, text("cross_entropy: target ", kept.index(reported(found)),
                                                      " is out of range for ", classes, " classes"));
            });
  return true;
}

}  // namespace kiln::gpu::family
