// Losses over all alignments: a block goes through the lattice of a sequence forward and backward, in double precision;
// its threads share what is independent (the states of a frame, the nodes of a diagonal).
#include <limits>

#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/ops/loss/ctc_transducer_ops.hpp"

namespace kiln::gpu::family {
namespace {

constexpr DType kSums = DType::F64, kIndex = DType::I64;

/// Helpers of both kernels.
class Lattice {
 public:
  Lattice(Builder& k, DType dtype, DType times, DType sizes, DType report_as, std::int64_t least_size)
      : never(k.literal(kSums, -std::numeric_limits<double>::infinity())),
        k_(k),
        dtype_(dtype),
        times_(k.input(times)),
        sizes_(k.input(sizes)),
        loss_(k.output(dtype)),
        cell_(k.both(report_as)),
        least_size_(least_size) {}

  /// Reads the sequence's frames and states or labels. Returns false if a length is wrong; then it is reported.
  Expr begin(const Expr& batch, const Expr& most_time, const Expr& most_size) {
    time = times_[sequence()].as(kIndex);
    size = sizes_[sequence()].as(kIndex);
    const Expr timely = (time >= 0) & (time <= most_time), sized = (size >= least_size_) & (size <= most_size);
    k_.when((k_.thread() == 0) & !timely, [&] { report(cell_, sequence()); });
    k_.when((k_.thread() == 0) & !sized, [&] { report(cell_, batch + sequence()); });
    return timely & sized;
  }
  Expr sequence() const { return k_.block().as(kIndex); }
  Expr number(std::int64_t value) const { return k_.literal(kIndex, value); }
  Expr wide(const Expr& x) const { return x.as(kSums); }
  Expr narrow(const Expr& x) const { return x.as(dtype_); }

  /// log(exp(a) + exp(b))
  Expr log_add(const Expr& a, const Expr& b) const {
    const Expr high = select(a < b, b, a), low = select(a < b, a, b);
    const Expr share = k_.call("exp", kSums, {low - high});
    return select(low == never, high, high + k_.call("log1p", kSums, {share}));
  }
  Expr exp(const Expr& x) const { return k_.call("exp", kSums, {x}); }
  /// An element if `there` holds; else `never`.
  Expr where(const Expr& there, FunctionRef<Expr()> element) const {
    const Local value = k_.variable(never);
    k_.when(there, [&] { value.set(element()); });
    return value;
  }
  /// Calls f(step) for each of `count` steps, with a barrier after each, so that f may pass memory to the next step.
  void steps(const Expr& count, FunctionRef<void(const Expr&)> f) const {
    k_.loop(number(0), count, number(1), [&](const Expr& step) {
      f(step);
      k_.barrier();
    });
  }
  /// Calls f(i) for i below `count`, distributed over the threads.
  void each(const Expr& count, FunctionRef<void(const Expr&)> f) const {
    k_.loop(k_.thread().as(kIndex), count, number(kThreads), f);
  }
  void lose(const Expr& total) const {
    k_.when(k_.thread() == 0, [&] { loss_.store(sequence(), narrow(k_.literal(kSums, 0) - total)); });
  }

  const Expr never;
  Expr time, size;

 private:
  Builder& k_;
  DType dtype_;
  Buffer times_, sizes_, loss_, cell_;
  std::int64_t least_size_;
};

struct CtcKernel {
  DType dtype, times, sizes, report_as;

  Kernel kernel() const {
    Builder k("ctc", kThreads);
    Lattice x(k, dtype, times, sizes, report_as, 1);
    const Buffer scores = k.input(dtype), skips = k.input(DType::Bool), occupancy = k.output(dtype);
    const Buffer alpha = k.both(kSums), to = k.both(kSums);  // [batch, time, width], [batch, 2, width]
    const Expr batch = k.number(kIndex), most = k.number(kIndex), width = k.number(kIndex);
    const Expr may = x.begin(batch, most, width), time = x.time, size = x.size, sequence = x.sequence();
    const Expr zero = k.literal(kSums, 0);
    const auto at = [&](const Expr& t, const Expr& s) { return (sequence * most + t) * width + s; };
    const auto skipped = [&](const Expr& s) { return skips[sequence * width + s] != 0; };
    k.when(may & (time == 0), [&] { x.lose(select(size == 1, zero, x.never)); });
    k.when(may & (time > 0), [&] {
      x.steps(time, [&](const Expr& t) {
        x.each(size, [&](const Expr& s) {
          const Local from = k.variable(select(s < 2, zero, x.never));
          k.when(t > 0, [&] {
            const Expr stay = alpha[at(t - 1, s)];
            const Expr next = x.where(s >= 1, [&] { return alpha[at(t - 1, s - 1)]; });
            const Expr skip =
                x.where(s >= 2, [&] { return x.where(skipped(s), [&] { return alpha[at(t - 1, s - 2)]; }); });
            from.set(x.log_add(x.log_add(stay, next), skip));
          });
          alpha.store(at(t, s), from + x.wide(scores[at(t, s)]));
        });
      });
      const Expr last = alpha[at(time - 1, size - 1)];
      const Expr total = x.log_add(last, x.where(size > 1, [&] { return alpha[at(time - 1, size - 2)]; }));
      x.lose(total);
      k.when(total != x.never, [&] {
        // to[s]: the sum over all paths from state s in the next frame to the end, with the emission there.
        x.steps(time, [&](const Expr& step) {
          const Expr t = time - 1 - step;
          const Expr read = (sequence * 2 + step % 2) * width, write = (sequence * 2 + (step + 1) % 2) * width;
          x.each(size, [&](const Expr& s) {
            const Local beta = k.variable(select(s >= size - 2, zero, x.never));
            k.when(step > 0, [&] {
              const Expr next = x.where(s + 1 < size, [&] { return to[read + s + 1]; });
              const Expr skip =
                  x.where(s + 2 < size, [&] { return x.where(skipped(s + 2), [&] { return to[read + s + 2]; }); });
              beta.set(x.log_add(x.log_add(to[read + s], next), skip));
            });
            occupancy.store(at(t, s), x.narrow(x.exp(alpha[at(t, s)] + beta - total)));
            to.store(write + s, beta + x.wide(scores[at(t, s)]));
          });
        });
      });
    });
    return k.finish();
  }
};

/// Nodes of a diagonal, where frame + labels is constant, depend only on those of the previous diagonal.
struct RnntKernel {
  DType dtype, times, sizes, report_as;

  Kernel kernel() const {
    Builder k("rnnt", kThreads);
    Lattice x(k, dtype, times, sizes, report_as, 0);
    const Buffer blanks = k.input(dtype), labels = k.input(dtype);
    const Buffer blank_share = k.output(dtype), label_share = k.output(dtype);
    const Buffer alpha = k.both(kSums), beta = k.both(kSums);  // [batch, time, width]
    const Expr batch = k.number(kIndex), most = k.number(kIndex), width = k.number(kIndex);
    const Expr may = x.begin(batch, most, width - 1), time = x.time, size = x.size, sequence = x.sequence();
    const Expr zero = k.literal(kSums, 0);
    const auto at = [&](const Expr& t, const Expr& u) { return (sequence * most + t) * width + u; };
    const auto label_at = [&](const Expr& t, const Expr& u) { return (sequence * most + t) * (width - 1) + u; };
    const auto blank = [&](const Expr& t, const Expr& u) { return x.wide(blanks[at(t, u)]); };
    const auto label = [&](const Expr& t, const Expr& u) { return x.wide(labels[label_at(t, u)]); };
    const auto diagonal = [&](const Expr& sum, FunctionRef<void(const Expr&, const Expr&)> f) {
      x.each(size + 1, [&](const Expr& u) {
        const Expr t = sum - u;
        k.when((t >= 0) & (t < time), [&] { f(t, u); });
      });
    };
    k.when(may & (time == 0), [&] { x.lose(x.never); });
    k.when(may & (time > 0), [&] {
      const Expr count = time + size;
      x.steps(count, [&](const Expr& sum) {
        diagonal(sum, [&](const Expr& t, const Expr& u) {
          const Expr by_blank = x.where(t > 0, [&] { return alpha[at(t - 1, u)] + blank(t - 1, u); });
          const Expr by_label = x.where(u > 0, [&] { return alpha[at(t, u - 1)] + label(t, u - 1); });
          alpha.store(at(t, u), select(sum == 0, zero, x.log_add(by_blank, by_label)));
        });
      });
      const Expr total = alpha[at(time - 1, size)] + blank(time - 1, size);
      x.lose(total);
      k.when(total != x.never, [&] {
        x.steps(count, [&](const Expr& step) {
          diagonal(count - 1 - step, [&](const Expr& t, const Expr& u) {
            const Local after = k.variable(select((t + 1 == time) & (u == size), zero, x.never));
            k.when(t + 1 < time, [&] { after.set(beta[at(t + 1, u)]); });
            const Expr by_blank = after + blank(t, u);
            const Expr by_label = x.where(u < size, [&] { return beta[at(t, u + 1)] + label(t, u); });
            const Expr before = alpha[at(t, u)] - total;
            blank_share.store(at(t, u), x.narrow(x.exp(before + by_blank)));
            k.when(u < size, [&] { label_share.store(label_at(t, u), x.narrow(x.exp(before + by_label))); });
            beta.store(at(t, u), x.log_add(by_blank, by_label));
          });
        });
      });
    });
    return k.finish();
  }
};

/// The error for a reported length: lengths of frames come first.
void check_lengths(Gpu& gpu, const Value& cell, Call call, std::string_view op, std::string_view what,
                   std::int64_t time, std::int64_t least, std::int64_t most) {
  gpu.check(cell, call,
            [times = KeptOperand(call.in[2]), sizes = KeptOperand(call.in[3]), function = CalledAs::function(), op,
             what, time, least, most](std::int64_t found) {
              const std::int64_t batch = times.array().numel(), place = reported(found);
              const bool of_time = place < batch;
              return wrong<IndexError>(
                  function, text(op, ": sequence ", place % batch, " has ",
                                 (of_time ? times : sizes).index(place % batch), " ", of_time ? "frames" : what,
                                 ", which is not between ", of_time ? 0 : least, " and ", of_time ? time : most));
            });
}

Array cleared(Gpu& gpu, Value& result) {
  const Array array = gpu.allocate(result);
  const auto bytes = static_cast<std::size_t>(array.numel()) * size_of(array.dtype);
  if (bytes) gpu.driver().clear(array.data, bytes);
  return array;
}

}  // namespace

bool run(Gpu& gpu, const op::Ctc&, Call call) {
  using Op = op::Ctc;
  std::array<Value, 4> held;
  const auto in = [&](Op::Slot slot) { return gpu.read_contiguous(call.in[slot], held[slot]); };
  const Array scores = in(Op::scores), skips = in(Op::skips), times = in(Op::times), sizes = in(Op::sizes);
  const std::int64_t batch = scores.shape[0], time = scores.shape[1], width = scores.shape[2];
  const Array loss = gpu.allocate(call.out[Op::loss]), occupancy = cleared(gpu, call.out[Op::occupancy]);
  const Value cell = gpu.check_cell(2 * batch);
  const Value alpha = gpu.scratch({{batch, time, width}, kSums}), to = gpu.scratch({{batch, 2, width}, kSums});
  gpu.launch(CtcKernel{scores.dtype, times.dtype, sizes.dtype, cell.dtype()}, batch,
             {times, sizes, loss, read(cell), scores, skips, occupancy, read(alpha), read(to), batch, time, width});
  check_lengths(gpu, cell, call, "ctc", "states", time, 1, width);
  return true;
}

bool run(Gpu& gpu, const op::Rnnt&, Call call) {
  using Op = op::Rnnt;
  std::array<Value, 4> held;
  const auto in = [&](Op::Slot slot) { return gpu.read_contiguous(call.in[slot], held[slot]); };
  const Array blanks = in(Op::blanks), labels = in(Op::labels), times = in(Op::times), sizes = in(Op::sizes);
  const std::int64_t batch = blanks.shape[0], time = blanks.shape[1], width = blanks.shape[2];
  const Array loss = gpu.allocate(call.out[Op::loss]), blank_share = cleared(gpu, call.out[Op::blank_occupancy]),
              label_share = cleared(gpu, call.out[Op::label_occupancy]);
  const Value cell = gpu.check_cell(2 * batch);
  const Desc lattice{{batch, time, width}, kSums};
  const Value alpha = gpu.scratch(lattice), beta = gpu.scratch(lattice);
  gpu.launch(RnntKernel{blanks.dtype, times.dtype, sizes.dtype, cell.dtype()}, batch,
             {times, sizes, loss, read(cell), blanks, labels, blank_share, label_share, read(alpha), read(beta), batch,
              time, width});
  check_lengths(gpu, cell, call, "rnnt", "labels", time, 0, width - 1);
  return true;
}

}  // namespace kiln::gpu::family
