// Programs as chains: what fits into float32 from end to end.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/simd/elementwise/chain.hpp"
#include "kiln/backend/cpu/simd/elementwise/fused.hpp"

namespace kiln::cpu::simd {

/// A program whose numbers are all read, computed and stored as float32, halves or booleans; but that integers may be
/// cast to float32 first, and float32 to bytes, which are stored or cast back.
class ChainProgram {
 public:
  explicit ChainProgram(const op::Program& program);
  ChainProgram(const ChainProgram&) = delete;
  bool runs() const { return !parts_.empty(); }
  void run(const FusedCall& call, std::int64_t grain) const;

  /// The tensors that a call reads.
  static SpareVector<Operand> operands_of(const FusedCall& call);
  /// Computes the elements of a piece, numbers of type `dtype` that take the place of the one input that is empty.
  void finish(const FusedCall& call, const SpareVector<Operand>& operands, const ProductTile& piece, DType dtype) const;

 private:
  friend class ChainBuilder;
  friend class ChainWorker;

  const Links& links_ = links();
  std::vector<Link> chain_;
  std::vector<const Link*> parts_;  // where compilers call links, a long chain would need a deep stack
  std::vector<bool> divisors_;      // inputs that are inverted if they are numbers and an inverse is exact
  std::size_t slots_ = 0;           // places of results that wait for their readers
};

}  // namespace kiln::cpu::simd
