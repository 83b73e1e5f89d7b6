// Fused programs in kernels: the steps of an element, in registers.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::gpu::family {

/// What a program computes, whatever the shape, so that kernels of equal programs are the same.
struct ProgramKey {
  static constexpr bool kPlain = true;
  explicit ProgramKey(const op::Program& program);
  /// Of one step, which is no elementwise op: a tree of numbers of `dtype`, as its inputs are.
  ProgramKey(const expr::Tree& tree, std::size_t inputs, DType dtype);
  std::shared_ptr<const op::Program> program;  // its steps, of no shape: the program itself may hold what is made of it
  const expr::Tree* tree = nullptr;
  std::vector<std::uint32_t> words;
  friend bool operator==(const ProgramKey& a, const ProgramKey& b) { return a.tree == b.tree && a.words == b.words; }
  friend std::uint64_t hash_value(const ProgramKey& key);
};

/// The results of all steps of one element, from its inputs as they are loaded; halves are rounded after each step.
std::vector<Expr> steps(Builder& k, const op::Program& program, std::span<const Expr> inputs);
std::vector<Expr> steps(Builder& k, const ProgramKey& program, std::span<const Expr> inputs);

/// What elementwise steps compute; null of other ops, and of programs that fold.
const ProgramKey* program_of(Gpu& gpu, const op::Op& op, const Call& call);

/// Runs a program that folds what it makes (fused_folds.cpp).
void run_folds(Gpu& gpu, const op::Program& program, Call call);

}  // namespace kiln::gpu::family
