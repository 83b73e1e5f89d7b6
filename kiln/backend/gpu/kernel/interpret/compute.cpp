// Steps that compute values from values.
#include <array>
#include <utility>

#include "kiln/backend/gpu/kernel/interpret/memory.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::gpu::interpreted {
namespace {

template <class T>
void fill(Block& block, const Step& step, T value) {
  T* const cells = block.cells<T>(step.result);
  std::fill(cells, cells + block.threads, value);
}

/// Computes the result of each thread from operand 0 (and 1). Inactive threads compute too, as none of these steps can
/// fail.
template <class To, class From, class F>
void map(Block& block, const Step& step, F f) {
  const From* __restrict const x = block.cells<From>(step.operands[0]);
  To* __restrict const result = block.cells<To>(step.result);
  for_all(block.threads, [&](int t) { result[t] = f(x[t]); });
}

template <class T, Arithmetic op>
void compute(Block& block, const Step& step) {
  using Result = std::conditional_t<compares(op), bool, T>;
  const T* __restrict const x = block.cells<T>(step.operands[0]);
  const T* __restrict const y = block.cells<T>(step.operands.back());
  Result* __restrict const result = block.cells<Result>(step.result);
  if constexpr (std::is_integral_v<T> && (op == Arithmetic::Divide || op == Arithmetic::Remainder))
    block.each([&](int t) {
      if (y[t] == 0) block.wrong("thread ", t, " divides ", x[t], " by 0");
    });
  for_all(block.threads, [&](int t) {
    if constexpr (compares(op)) result[t] = comparison<T>(op, x[t], y[t]);
    else result[t] = arithmetic<T>(op, x[t], y[t]);
  });
}

constexpr std::size_t kOperators = static_cast<std::size_t>(Arithmetic::NotEqual) + 1;

template <class T, std::size_t... i>
Run computes(Arithmetic op, std::index_sequence<i...>) {
  static constexpr std::array<Run, kOperators> kRuns{&compute<T, static_cast<Arithmetic>(i)>...};
  return kRuns[static_cast<std::size_t>(op)];
}

template <class T>
void choose(Block& block, const Step& step) {
  const bool* __restrict const condition = block.cells<bool>(step.operands[0]);
  const T* __restrict const yes = block.cells<T>(step.operands[1]);
  const T* __restrict const no = block.cells<T>(step.operands[2]);
  T* __restrict const result = block.cells<T>(step.result);
  for_all(block.threads, [&](int t) { result[t] = condition[t] ? yes[t] : no[t]; });
}

template <class T>
void multiply_add(Block& block, const Step& step) {
  const T* __restrict const x = block.cells<T>(step.operands[0]);
  const T* __restrict const y = block.cells<T>(step.operands[1]);
  const T* __restrict const z = block.cells<T>(step.operands[2]);
  T* __restrict const result = block.cells<T>(step.result);
  for_all(block.threads, [&](int t) { result[t] = x[t] * y[t] + z[t]; });
}

}  // namespace

Run run_constant(const Instruction& instruction) {
  switch (instruction.kind) {
    case Instruction::Kind::Thread:
      return [](Block& block, const Step& step) {
        for (int t = 0; t < block.threads; ++t) block.cells<std::int32_t>(step.result)[t] = t;
      };
    case Instruction::Kind::Block:
      return [](Block& block, const Step& step) { fill(block, step, static_cast<std::int32_t>(block.index)); };
    case Instruction::Kind::Blocks:
      return [](Block& block, const Step& step) { fill(block, step, static_cast<std::int32_t>(block.blocks)); };
    case Instruction::Kind::Number:
      return visit_type(instruction.type, [](auto like) -> Run {
        return [](Block& block, const Step& step) {
          fill(block, step, value_of<decltype(like)>(block.arguments[block.program.words[step.place]]));
        };
      });
    default:
      return visit_type(instruction.type, [](auto like) -> Run {
        return [](Block& block, const Step& step) { fill(block, step, value_of<decltype(like)>(step.bits)); };
      });
  }
}

Run run_compute(Arithmetic op, DType operand_type) {
  return visit_type(operand_type,
                    [&](auto like) { return computes<decltype(like)>(op, std::make_index_sequence<kOperators>()); });
}

Run run_select(DType type) {
  return visit_type(type, [](auto like) -> Run { return &choose<decltype(like)>; });
}

Run run_multiply_add(DType type) { return type == DType::F64 ? &multiply_add<double> : &multiply_add<float>; }

Run run_cast(DType from, DType to) {
  return visit_type(from, [&](auto x) {
    return visit_type(to, [](auto y) -> Run {
      using From = decltype(x);
      using To = decltype(y);
      return
          [](Block& block, const Step& step) { map<To, From>(block, step, [](From v) { return cast<From, To>(v); }); };
    });
  });
}

Run run_bits(DType type) {
  return visit_type(type, [](auto like) -> Run {
    return [](Block& block, const Step& step) {
      map<decltype(like), decltype(like)>(block, step, [](auto x) { return x; });
    };
  });
}

Run run_convert(DType from, DType to) {
  // An element in the type in which it is computed converts like the element itself.
  return visit_type(expr::computed_in(from), [&](auto like) {
    return visit_dtype(to, [](auto tag) -> Run {
      using From = decltype(like);
      using To = typename decltype(tag)::type;
      return [](Block& block, const Step& step) {
        map<Computed<To>, From>(block, step, [](From x) { return static_cast<Computed<To>>(convert<To>(x)); });
      };
    });
  });
}

Run run_narrow(DType dtype) {
  return visit_dtype(dtype, [](auto tag) -> Run {
    using T = typename decltype(tag)::type;
    return [](Block& block, const Step& step) {
      map<Computed<T>, Computed<T>>(block, step, [](auto x) { return static_cast<Computed<T>>(convert<T>(x)); });
    };
  });
}

}  // namespace kiln::gpu::interpreted
