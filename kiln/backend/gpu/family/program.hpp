// Fused programs in kernels: the steps for one element, in registers.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::gpu::family {

/// What a program computes, independent of its shape, so that equal programs share a kernel.
struct ProgramKey {
  static constexpr bool kPlain = true;
  explicit ProgramKey(const op::Program& program);
  /// A program of one step that is no elementwise op: a tree of numbers of `dtype`, which is also the type of its
  /// inputs.
  ProgramKey(const expr::Tree& tree, std::size_t inputs, DType dtype);
  // The steps without a shape; a copy, since the original may own what is cached for it.
  std::shared_ptr<const op::Program> program;
  const expr::Tree* tree = nullptr;
  std::vector<std::uint32_t> words;
  friend bool operator==(const ProgramKey& a, const ProgramKey& b) { return a.tree == b.tree && a.words == b.words; }
  friend std::uint64_t hash_value(const ProgramKey& key);
};

/// The results of all steps for one element, from its loaded inputs; halves are rounded after each step.
std::vector<Expr> steps(Builder& k, const op::Program& program, std::span<const Expr> inputs);
std::vector<Expr> steps(Builder& k, const ProgramKey& program, std::span<const Expr> inputs);

/// The program of elementwise steps; null for other ops, and for programs that reduce.
const ProgramKey* program_of(Gpu& gpu, const op::Op& op, const Call& call);

/// Runs a program that reduces its results (fused_folds.cpp).
void run_folds(Gpu& gpu, const op::Program& program, Call call);

}  // namespace kiln::gpu::family
