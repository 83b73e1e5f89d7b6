// op::AttentionGrad of halves by matrices that warps hold. Scores, and then what the gradient of the output says of them, pass
// through shared memory to the threads of their rows, which give back weights as halves. Two tiles of the others, queries
// and gradients or keys and values, lie in shared memory as they come, and are factors in either direction.
#include <limits>

#include "kiln/backend/gpu/family/sequence/attention_grad.hpp"

namespace kiln::gpu::family {
namespace {

constexpr int kOthers = WarpRows::kColumns;  // of a tile

/// One of the two products: its rows, the tile of others, and the result whose factor that tile is.
struct Part {
  Part(Builder& b, const WarpRows& warps, const MatrixGradKernel& of, int width, bool along_depth, bool has_result)
      : deep(width / kMatrixSide),
        side(b, WarpRows::tile(of.key, 1, width), kOthers, of.key.dtype, of.key.words ? 2 : 1, along_depth),
        rows(warps.take(Matrix::Use::Left, warps.matrix_rows() * deep)),
        result(warps.take(Matrix::Use::Sums, has_result ? warps.matrix_rows() * deep : 0)),
        extra(b.local(DType::F32, of.again && has_result ? width / 2 : 1)) {}
  int deep;
  TileSide side;
  WarpRows::Matrices rows, result;
  Local extra;  // what elements that are not finite add to the thread's results
};

class Grading {
  static constexpr int kVector = WarpRows::kVector, kOwn = WarpRows::kOwn, kWide = kOthers / kMatrixSide;

 public:
  Grading(Builder& builder, const MatrixGradKernel& kernel)
      : b(builder),
        of(kernel),
        key(kernel.key),
        p(builder, kernel.key),
        given(builder, p),
        to_width(p.sequence(use())),
        to_values(of.of_keys ? p.sequence(use()) : Sequence{}),
        warps(b, key, p.type, 1),
        by_width(b, warps, of, of.width, (of.of_keys ? of.q : of.k).along_depth, true),
        by_values(b, warps, of, of.values, (of.of_keys ? of.grad : of.v).along_depth, of.of_keys),
        numbers(b.shared(p.type, of.of_keys ? 2 * kOthers : 1)),
        share(b.local(p.type, kOwn)),
        slope(b.local(p.type, key.capped ? kOwn : 1)),
        hidden(b.local(DType::I32, of.again ? kOwn : 1)),
        none(b.literal(key.index, 0)),
        turn(b.literal(DType::I32, 0)),
        zero(b.literal(p.type, 0)),
        never(b.literal(p.type, -std::numeric_limits<double>::infinity())) {
    const Expr block = b.block().as(key.index), rest = block / given.tiles / given.chunks;
    const Expr heads = of.of_keys ? p.heads / p.shared : p.heads;
    first = block % given.tiles * of.rows;
    batch = rest / heads;
    head = rest % heads;
    kv_head = of.of_keys ? head : head / p.shared;
  }

  void write() {
    const Window part_by_width{start_of(to_width), first, rows_end(), none, p.width};
    if (!of.again) return grade();
    if (!of.of_keys) return when_spoilt(b, {{to_width, part_by_width, of.rows, of.width}}, [&] { grade(); });
    const Window part_by_values{start_of(to_values), first, rows_end(), none, p.values};
    when_spoilt(b, {{to_width, part_by_width, of.rows, of.width}, {to_values, part_by_values, of.rows, of.values}},
                [&] { grade(); });
  }

 private:
  AttentionParameters::Use use() const {
    return of.again ? AttentionParameters::Use::Both : AttentionParameters::Use::Written;
  }
  Expr row() const { return first + warps.row(0).as(key.index); }
  Expr other(const Expr& from, int i) const { return from + warps.column(i).as(key.index); }
  Expr rows_end() const { return of.of_keys ? p.keys : p.queries; }
  Expr others_end() const { return of.of_keys ? p.queries : p.keys; }

  // The factors, whose lines are times: q, k, v and the gradient.
  Factor of_q(const Expr& from) const { return p.q.by_width(of.q, p.q.start(batch, head), from, p.queries); }
  Factor of_k(const Expr& from) const { return p.k.by_width(of.k, p.k.start(batch, kv_head), from, p.keys); }
  Factor of_v(const Expr& from) const { return p.v.by_width(of.v, p.v.start(batch, kv_head), from, p.keys); }
  Factor of_grad(const Expr& from) const {
    return given.grad.by_width(of.grad, given.grad.start(batch, head), from, p.queries);
  }
  const Sequence& others_by_width() const { return of.of_keys ? p.q : p.k; }
  Expr others_start(bool values) const {
    if (of.of_keys) return values ? given.grad.start(batch, head) : p.q.start(batch, head);
    return p.k.start(batch, kv_head);
  }

  void load(Part& part, Factor from, const Expr& width, bool finite = false) {
    from.finite_alone = finite;
    part.side.begin(from);
    part.side.load(none, width, 0);
  }
  void load_others(const Expr& from) {
    load(by_width, of.of_keys ? of_q(from) : of_k(from), p.width);
    load(by_values, of.of_keys ? of_grad(from) : of_v(from), p.values);
  }
  void store_others() {
    by_width.side.store(turn, 0);
    by_values.side.store(turn, 0);
  }

  void load_rows() {
    load(by_width, of.of_keys ? of_k(first) : of_q(first), p.width);
    load(by_values, of.of_keys ? of_v(first) : of_grad(first), p.values);
    store_others();
    b.barrier();
    for (Part* each : {&by_width, &by_values}) warps.load_rows(each->rows, each->side.held_at(turn), 0, each->deep);
    b.barrier();
  }

  void go_over(const Expr& begin, const Expr& end) {
    load_others(begin);
    b.loop(begin, end, b.literal(key.index, kOthers), [&](const Expr& from) {
      store_others();
      if (of.of_keys) load_numbers(from);
      b.barrier();
      multiply(by_width);
      b.barrier();
      take_shares(from);
      b.barrier();
      multiply(by_values);
      if (of.of_keys) add(by_values, from, p.values);
      b.barrier();
      take_slopes();
      b.barrier();
      // The next tile is on its way while this one is multiplied; a kernel that reads one again has no registers for it.
      if (!of.again) load_others(from + kOthers);
      add(by_width, from, p.width);
      b.barrier();
      if (of.again) load_others(from + kOthers);
    });
  }

  /// Gives the threads the sums of one product.
  void multiply(const Part& part) {
    warps.multiply_lines(scores(), part.rows, part.side.held_at(turn), part.deep);
    warps.give(scores(), 0, kWide, 0, kWide);
  }
  const WarpRows::Matrices& scores() {
    if (sums.empty()) sums = warps.take(Matrix::Use::Sums, warps.matrix_rows() * kWide);
    return sums;
  }

  /// The two numbers of each query of a tile, for all threads.
  void load_numbers(const Expr& from) {
    b.when(b.thread() < kOthers, [&] {
      const OfQuery each(b, p, given, batch, head, from + b.thread().as(key.index));
      numbers.store(b.thread(), each.shift);
      numbers.store(b.thread() + kOthers, each.delta);
    });
  }
  /// Number `which` of the queries of the thread's columns i and on.
  std::vector<Expr> numbers_of(int which, int i) const {
    if (!of.of_keys) return std::vector<Expr>(kVector, which ? own->delta : own->shift);
    return numbers.load(warps.column(i) + which * kOthers, kVector);
  }

  AttentionParameters::Score score(const Expr& from, int i, const Expr& dot, bool by_element) const {
    if (!by_element) return p.shown_score(dot);
    return of.of_keys ? p.score(batch, head, other(from, i), row(), dot)
                      : p.score(batch, head, row(), other(from, i), dot);
  }

  void take_shares(const Expr& from) {
    const bool by_element = key.masked || key.biased || key.windowed || of.again;
    for (int i = 0; i < kOwn; i += kVector) {
      const std::vector<Expr> dots = warps.scores.load(warps.score_place(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        const AttentionParameters::Score made = score(from, i + j, dots[static_cast<std::size_t>(j)], by_element);
        share.set(i + j, made.score);
        if (key.capped) slope.set(i + j, made.slope);
        if (of.again) hidden.set(i + j, (made.score == never).as(DType::I32));
      }
    }
    if (!by_element) hide(from);
    for (int i = 0; i < kOwn; i += kVector) {
      const std::vector<Expr> shifts = numbers_of(0, i);
      std::vector<Expr> powers;
      for (int j = 0; j < kVector; ++j) {
        const Expr power = b.call("exp", p.type, {share[i + j] - shifts[static_cast<std::size_t>(j)]});
        powers.push_back(of.again ? select(hidden[i + j] != 0, zero, power) : power);
        share.set(i + j, powers.back());
      }
      if (of.of_keys) warps.weights.store(warps.weight_place(0, warps.column(i)), powers);
    }
  }

  /// Most tiles have nothing to hide.
  void hide(const Expr& from) {
    Expr hides = (from + kOthers > others_end()) | (first + of.rows > rows_end());
    const Expr last_key = of.of_keys ? first + (of.rows - 1) : from + (kOthers - 1);
    if (key.causal) hides = hides | (last_key > (of.of_keys ? from : first) + (p.keys - p.queries));
    b.when(hides, [&] {
      for (int i = 0; i < kOwn; ++i) {
        const Expr at = other(from, i), seen = of.of_keys ? p.in_reach(at, row()) : p.in_reach(row(), at);
        share.set(i, select(seen, share[i], never));
      }
    });
  }

  void take_slopes() {
    for (int i = 0; i < kOwn; i += kVector) {
      const std::vector<Expr> sums = warps.scores.load(warps.score_place(i), kVector), deltas = numbers_of(1, i);
      std::vector<Expr> outer;
      for (int j = 0; j < kVector; ++j) {
        const auto at = static_cast<std::size_t>(j);
        Expr x = share[i + j] * (sums[at] - deltas[at]) * p.scale;
        if (key.capped) x = x * slope[i + j];
        outer.push_back(of.again ? select(hidden[i + j] != 0, zero, x) : x);
      }
      warps.weights.store(warps.weight_place(0, warps.column(i)), outer);
    }
  }

  /// Adds weights * the tile of others to a part's result.
  void add(Part& part, const Expr& from, const Expr& width) {
    if (!of.again) return warps.add_weighted(part.result, part.side.held_at(turn), part.deep, true);
    const bool values = &part == &by_values;
    b.barrier();
    load(part, values ? of_grad(from) : of.of_keys ? of_q(from) : of_k(from), width, true);
    part.side.store(turn, 0);
    b.barrier();
    warps.add_weighted(part.result, part.side.held_at(turn), part.deep, true);
    const Sequence& x = values ? given.grad : others_by_width();
    b.loop(from, min(from + kOthers, others_end()), b.literal(key.index, 1), [&](const Expr& time) {
      const Expr seen = of.of_keys ? p.sees(batch, head, time, row()) : p.sees(batch, head, row(), time);
      each_result(part, [&](int i, const Expr& at) {
        b.when(at < width, [&] {
          const Expr element = x.buffer[others_start(values) + time * x.strides[2] + at * x.strides[3]];
          b.when((element - element != 0) & seen, [&] {
            const Expr weight = warps.weights[warps.weight_place(0, (time - from).as(DType::I32))];
            part.extra.set(i, part.extra[i] + weight * element);
          });
        });
      });
    });
  }

  void grade() {
    for (const Part* each : {&by_width, &by_values}) {
      for (const Matrix& sums : each->result) sums.clear();
      for (int i = 0; of.again && !each->result.empty() && i < each->deep * kMatrixSide / 2; ++i)
        each->extra.set(i, zero);
    }
    load_rows();
    const AttentionParameters::Range range = of.of_keys ? p.queries_of(first, of.rows) : p.keys_of(first, of.rows);
    const Expr begin = range.begin / kOthers * kOthers;
    if (!of.of_keys) {
      own.emplace(b, p, given, batch, head, row());
      go_over(begin, range.end);
    } else {
      b.loop(kv_head * p.shared, (kv_head + 1) * p.shared, b.literal(key.index, 1), [&](const Expr& each) {
        head = each;
        go_over(begin, range.end);
      });
    }
    store(by_width, to_width, p.width);
    if (of.of_keys) store(by_values, to_values, p.values);
  }

  /// Calls f(i, column) for the thread's columns of a result.
  void each_result(const Part& part, FunctionRef<void(int i, const Expr& at)> f) const {
    for (int i = 0; i < part.deep * kMatrixSide / 2; ++i) f(i, warps.column(i).as(key.index));
  }
  Expr start_of(const Sequence& to) const { return to.start(batch, of.of_keys ? kv_head : head); }
  Expr place_of(const Sequence& to, const Expr& at) const {
    return start_of(to) + row() * to.strides[2] + at * to.strides[3];
  }

  void store(const Part& part, const Sequence& to, const Expr& width) {
    b.barrier();
    warps.give(part.result, 0, part.deep, 0, part.deep);
    b.barrier();
    for (int i = 0; i < part.deep * kMatrixSide / 2; i += kVector) {
      const std::vector<Expr> made = warps.scores.load(warps.score_place(i), kVector);
      for (int j = 0; j < kVector; ++j) {
        const Expr at = warps.column(i + j).as(key.index);
        Expr x = made[static_cast<std::size_t>(j)];
        if (of.again) {
          const Expr more = part.extra[i + j];
          x = select(more == zero, x, x + more);
        }
        b.when((row() < rows_end()) & (at < width), [&] { to.buffer.store(place_of(to, at), x); });
      }
    }
  }

  Builder& b;
  const MatrixGradKernel& of;
  const AttentionKey& key;
  AttentionParameters p;
  const Given given;
  const Sequence to_width, to_values;  // the gradients of q or k, and of v
  const WarpRows warps;
  Part by_width, by_values;
  const Shared numbers;
  const Local share, slope, hidden;  // of the thread's scores
  const Expr none, turn, zero, never;
  WarpRows::Matrices sums;
  std::optional<OfQuery> own;
  Expr first, batch, head, kv_head;
};

}  // namespace

Kernel MatrixGradKernel::kernel() const {
  const std::string_view name = of_keys ? (again ? "attention_key_grad_again" : "attention_key_grad")
                                        : (again ? "attention_query_grad_again" : "attention_query_grad");
  Builder b(name, WarpRows::kWarps * kLanes);
  Grading(b, *this).write();
  return b.finish();
}

}  // namespace kiln::gpu::family
