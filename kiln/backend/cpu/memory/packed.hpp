// Operands in the order that a kernel wants to read them in, kept where they will be wanted again: the weights of a
// network that infers are packed twice, those of a training step, which are new tensors every time, are not kept.
// Kernels ask for them by packing.hpp.
#pragma once
#include <atomic>

#include "kiln/core/function_ref.hpp"
#include "kiln/core/ref.hpp"

namespace kiln {
class Signature;
class Value;
}  // namespace kiln

namespace kiln::cpu {

class Memory;

namespace detail {
/// For kept() of packing.hpp, which says what `form` has to say.
Ref<Memory> kept(const Value& operand, const Signature& form, std::size_t bytes, FunctionRef<void(std::byte*)> pack);
}  // namespace detail

/// What is kept with one block of memory: packed forms of its contents. They go with it, and with forget_packed().
class PackedForms {
 public:
  PackedForms() = default;
  ~PackedForms() { forget(); }
  PackedForms(const PackedForms&) = delete;
  PackedForms& operator=(const PackedForms&) = delete;

  /// To be said before the block is written again.
  void forget();
  /// How many there are.
  int count() const;

 private:
  friend Ref<Memory> detail::kept(const Value&, const Signature&, std::size_t, FunctionRef<void(std::byte*)>);
  friend void forget_packed();
  struct Form;
  struct Lock;

  Form* find(const Signature& signature) const;
  Form* take_all();
  static void end(Form* forms);

  std::atomic<std::uint64_t> asked_{0};                // two bits for each form, by its hash
  std::atomic<Form*> first_{nullptr};                  // changes under the lock
  PackedForms *previous_ = nullptr, *next_ = nullptr;  // of those that have some; under the lock
};

/// Lets go of all forms that are kept, for the sake of their memory. From any thread.
void forget_packed();

}  // namespace kiln::cpu
