// op::Fft by Stockham's algorithm: passes of mixed radices that keep everything in order (Cochran et al., "What is the
// fast Fourier transform?", 1967). Before a pass, with m the product of the radices so far, place r m + k holds element
// k of the transform of x[r], x[r + n / m], x[r + 2 n / m] and so on. Short lines stay in shared memory through all
// passes; for others each pass is a launch.
#include <cmath>
#include <numbers>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/ops/signal/signal_ops.hpp"

namespace kiln::gpu::family {
namespace {

constexpr std::int64_t kMostShared = 48 << 10;

using op::FftKind;

/// The radices of a length: eights, a remaining 4 or 2, other primes.
std::vector<std::int64_t> radices_of(std::int64_t n) {
  std::vector<std::int64_t> all;
  for (const std::int64_t radix : {8, 4, 2})
    for (; n % radix == 0 && n > 1; n /= radix) all.push_back(radix);
  for (std::int64_t p = 3; n > 1; p += 2) {
    if (p * p > n) p = n;
    for (; n % p == 0; n /= p) all.push_back(p);
  }
  return all;
}

struct Complex {
  Expr re, im;
};

/// What all kernels of an op share.
struct Transform {
  FftKind kind;
  bool adjoint;
  DType dtype, index;

  DType type() const { return expr::computed_in(dtype); }
  std::int64_t parts_in() const { return kind == FftKind::RealToComplex ? 1 : 2; }
  std::int64_t parts_out() const { return kind == FftKind::ComplexToReal ? 1 : 2; }

  /// Element k of n of a line that begins at `first`, with stride `inner`.
  Complex load(Builder& k, const Buffer& x, const Expr& first, const Expr& inner, const Expr& at, const Expr& n) const {
    if (kind == FftKind::RealToComplex) return {x[first + at * inner], k.literal(type(), 0)};
    if (kind == FftKind::ComplexToComplex) {
      const Expr place = (first + at * inner) * 2;
      return {x[place], x[place + 1]};
    }
    // The other half is the mirror image; elements without a mirror image are real.
    const Expr mirrored = at > n / 2, source = select(mirrored, n - at, at), place = (first + source * inner) * 2;
    const Expr doubled = (source != 0) & (source * 2 != n), im = x[place + 1];
    const Complex element{x[place], select(doubled, select(mirrored, -im, im), k.literal(type(), 0))};
    if (!adjoint) return element;
    const Expr share = select(doubled, k.literal(type(), 0.5), k.literal(type(), 1));
    return {element.re * share, element.im * share};
  }
  void store(Builder& k, const Buffer& z, const Expr& first, const Expr& inner, const Expr& at, const Expr& n,
             const Expr& scale, const Complex& element) const {
    Expr factor = scale;
    if (kind == FftKind::RealToComplex && adjoint) factor = select((at != 0) & (at * 2 != n), scale + scale, scale);
    const Expr place = first + at * inner;
    const auto put = [&] {
      if (kind == FftKind::ComplexToReal) return z.store(place, element.re * factor);
      z.store(place * 2, element.re * factor);
      z.store(place * 2 + 1, element.im * factor);
    };
    if (kind == FftKind::RealToComplex) k.when(at <= n / 2, put);
    else put();
  }
  /// The offset where line i of `length` elements begins.
  static Expr line(const Expr& i, const Expr& inner, const Expr& length) {
    return i / inner * length * inner + i % inner;
  }
};

/// The element at place `o` after a pass of this radix; read(place) gives the elements before it.
template <class Read>
Complex pass(Builder& k, const Buffer& roots, const Expr& o, const Expr& n, const Expr& m, const Expr& radix, int known,
             Read&& read) {
  const Expr whole = m * radix, at = o % whole, row = o / whole, first = row * m + at % m, step = n / radix;
  const Expr turn = at * (n / whole);  // the increment of the root's exponent, below n
  const Complex start = read(first);
  const Local re = k.variable(start.re), im = k.variable(start.im), power = k.variable(k.literal(n.type(), 0));
  const auto add = [&](const Expr& i) {
    const Expr next = power.get() + turn, now = select(next >= n, next - n, next);
    power.set(now);
    const std::vector<Expr> root = roots.load(now * 2, 2);
    const Complex x = read(first + i * step);
    re.set(re.get() + (x.re * root[0] - x.im * root[1]));
    im.set(im.get() + (x.re * root[1] + x.im * root[0]));
  };
  if (known > 0 && known <= 8)
    for (int i = 1; i < known; ++i) add(k.literal(n.type(), i));
  else k.loop(k.literal(n.type(), 1), radix, k.literal(n.type(), 1), add);
  return {re, im};
}

/// Whole lines, several per block, in shared memory.
struct LinesKernel {
  Transform transform;
  std::int64_t n;
  int lines;

  Kernel kernel() const {
    const DType type = transform.type(), index = transform.index;
    Builder k("fft", kThreads);
    const Buffer x = k.input(transform.dtype), roots = k.input(type), z = k.output(transform.dtype);
    const Expr count = k.number(index), inner = k.number(index), scale = k.number(type);
    const std::int64_t all = n * lines, half = n / 2 + 1;
    const Shared held = k.shared(type, 4 * all);  // two lines of pairs, used alternately
    const Expr first_line = k.block().as(index) * lines, length = k.literal(index, n);
    const auto literal = [&](std::int64_t number) { return k.literal(index, number); };
    const auto each = [&](auto&& f) {
      k.loop(k.thread(), k.literal(DType::I32, all), k.literal(DType::I32, kThreads), f);
    };
    // Neighbouring threads take neighbours of a line, or those of neighbouring lines, whichever are adjacent in memory.
    const auto in_memory = [&](std::int64_t elements, auto&& f) {
      each([&](const Expr& i) {
        const Expr line = i % lines, at = i / lines;
        const Expr side_line = i / static_cast<int>(n), side_at = i % static_cast<int>(n), side = inner == 1;
        const Expr own = select(side, side_line, line), place = select(side, side_at, at);
        const Expr which = first_line + own.as(index);
        k.when(which < count, [&] {
          f(own * static_cast<int>(n) + place, Transform::line(which, inner, literal(elements)), place.as(index));
        });
      });
      k.barrier();
    };
    const bool from_half = transform.kind == FftKind::ComplexToReal, to_half = transform.kind == FftKind::RealToComplex;
    in_memory(from_half ? half : n, [&](const Expr& to, const Expr& first, const Expr& at) {
      const Complex element = transform.load(k, x, first, inner, at, length);
      held.store(to * 2, element.re);
      held.store(to * 2 + 1, element.im);
    });
    std::int64_t m = 1, turn = 0;
    const auto places = [&](const Expr& i, std::int64_t of) { return i * 2 + static_cast<int>(of * 2 * all); };
    for (const std::int64_t radix : radices_of(n)) {
      each([&](const Expr& i) {
        const Expr line = i / static_cast<int>(n), o = i % static_cast<int>(n), start = line * static_cast<int>(n);
        k.when(first_line + line.as(index) < count, [&] {
          const auto number = [&](std::int64_t value) { return k.literal(DType::I32, value); };
          const Complex made =
              pass(k, roots, o, number(n), number(m), number(radix), static_cast<int>(radix), [&](const Expr& from) {
                const Expr at = places(start + from, turn);
                return Complex{held[at], held[at + 1]};
              });
          held.store(places(i, 1 - turn), made.re);
          held.store(places(i, 1 - turn) + 1, made.im);
        });
      });
      k.barrier();
      m *= radix;
      turn = 1 - turn;
    }
    in_memory(to_half ? half : n, [&](const Expr& from, const Expr& first, const Expr& at) {
      const Expr place = places(from, turn);
      transform.store(k, z, first, inner, at, length, scale, {held[place], held[place + 1]});
    });
    return k.finish();
  }
};

enum class Step : std::uint8_t { Load, Pass, Store };

/// One pass over all lines, one element per thread.
struct StepKernel {
  Transform transform;
  Step step;
  int radix;  // if it is small; 0: a parameter

  Kernel kernel() const {
    const DType type = transform.type(), index = transform.index;
    Builder k("fft_step", kThreads);
    const Buffer from = k.input(step == Step::Load ? transform.dtype : type), roots = k.input(type);
    const Buffer to = k.output(step == Step::Store ? transform.dtype : type);
    const Expr count = k.number(index), n = k.number(index), m = k.number(index), any = k.number(index),
               inner = k.number(index), scale = k.number(type);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const Expr which = i / n, at = i % n;
      if (step == Step::Load) {
        const Expr length = transform.kind == FftKind::ComplexToReal ? n / 2 + 1 : n;
        const Complex x = transform.load(k, from, Transform::line(which, inner, length), inner, at, n);
        to.store(i * 2, std::array{x.re, x.im});
      } else if (step == Step::Store) {
        const Expr length = transform.kind == FftKind::RealToComplex ? n / 2 + 1 : n;
        const std::vector<Expr> x = from.load(i * 2, 2);
        transform.store(k, to, Transform::line(which, inner, length), inner, at, n, scale, {x[0], x[1]});
      } else {
        const Complex made =
            pass(k, roots, at, n, m, radix ? k.literal(index, radix) : any, radix, [&](const Expr& place) {
              const std::vector<Expr> x = from.load((which * n + place) * 2, 2);
              return Complex{x[0], x[1]};
            });
        to.store(i * 2, std::array{made.re, made.im});
      }
    });
    return k.finish();
  }
};

/// exp(-2 pi i k / n), or its conjugate, for k < n: memory of the device that does not keep its creator alive.
struct Roots {
  Ref<Storage> storage;
};
struct RootsKey {
  std::int64_t n;
  bool inverse;
  DType type;
};

template <class T>
Ref<Storage> upload_roots(Gpu& gpu, const RootsKey& key) {
  std::vector<T> roots;
  for (std::int64_t k = 0; k < key.n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(key.n);
    roots.push_back(static_cast<T>(std::cos(angle)));
    roots.push_back(static_cast<T>(key.inverse ? std::sin(angle) : -std::sin(angle)));
  }
  return gpu.upload_table(key.type, std::as_bytes(std::span(roots)));
}

}  // namespace

bool run(Gpu& gpu, const op::Fft& op, Call call) {
  Value held;
  const Array x = gpu.read_contiguous(call.in[op::Fft::x], held), z = gpu.allocate(call.out[0]);
  if (z.numel() == 0) return true;
  std::int64_t outer = 1, inner = 1;
  for (int i = 0; i < op.dim; ++i) outer *= x.shape[i];
  for (int i = op.dim + 1; i < x.shape.size() - (op.kind == FftKind::RealToComplex ? 0 : 1); ++i) inner *= x.shape[i];
  const std::int64_t lines = outer * inner, n = op.n, all = lines * n;
  const DType type = expr::computed_in(z.dtype);
  const Transform transform{op.kind, op.adjoint, z.dtype, index_type({2 * all + kThreads, x.numel(), z.numel()})};
  const RootsKey key{n, op.inverse, type};
  const auto& table = gpu.made<Roots>(key, [&] {
    return std::make_shared<const Roots>(
        Roots{type == DType::F64 ? upload_roots<double>(gpu, key) : upload_roots<float>(gpu, key)});
  });
  const std::byte* const roots = gpu.table(*table.storage);
  const Argument scale(call.in[op::Fft::scale].scalar(), z.dtype);

  const std::int64_t workspace = std::min(kMostShared, gpu.driver().capabilities().shared_memory);
  const std::int64_t most = workspace / static_cast<std::int64_t>(4 * size_of(type));
  if (n <= most) {
    const auto together = static_cast<int>(std::clamp<std::int64_t>(std::min<std::int64_t>(1024, most) / n, 1, 32));
    gpu.launch(LinesKernel{transform, n, together}, blocks_for(lines, together), {x, roots, z, lines, inner, scale});
    return true;
  }
  Value before = gpu.scratch({Shape{all, 2}, type}), after = gpu.scratch({Shape{all, 2}, type});
  const auto launch = [&](Step step, const Array& from, const Array& to, std::int64_t m, std::int64_t radix) {
    gpu.launch(StepKernel{transform, step, step == Step::Pass && radix <= 8 ? static_cast<int>(radix) : 0},
               blocks_for(all, kThreads), {from, roots, to, all, n, m, radix, inner, scale});
  };
  launch(Step::Load, x, read(before), 1, 1);
  std::int64_t m = 1;
  for (const std::int64_t radix : radices_of(n)) {
    launch(Step::Pass, read(before), read(after), m, radix);
    std::swap(before, after);
    m *= radix;
  }
  launch(Step::Store, read(before), z, 1, 1);
  return true;
}

}  // namespace kiln::gpu::family
