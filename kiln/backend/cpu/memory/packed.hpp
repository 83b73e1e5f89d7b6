// Operands in the order in which a kernel reads them, kept where they will be needed again. The weights of a network
// that infers are packed twice; those of a training step, which are new tensors every time, are not kept. Kernels ask
// for packed operands by packing.hpp.
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
/// Implements kept() of packing.hpp, which says what identifies a `form`.
Ref<Memory> kept(const Value& operand, const Signature& form, std::size_t bytes, FunctionRef<void(std::byte*)> pack);
}  // namespace detail

/// The packed forms of the contents of one block of memory. They are freed with the block, and by forget_packed().
class PackedForms {
 public:
  PackedForms() = default;
  ~PackedForms() { forget(); }
  PackedForms(const PackedForms&) = delete;
  PackedForms& operator=(const PackedForms&) = delete;

  /// Frees all forms. Call it before the block is written again.
  void forget();
  /// The number of forms.
  int count() const;

 private:
  friend Ref<Memory> detail::kept(const Value&, const Signature&, std::size_t, FunctionRef<void(std::byte*)>);
  friend void forget_packed();
  struct Form;
  struct Lock;

  Form* find(const Signature& signature) const;
  Form* detach_all();
  static void end(Form* forms);

  std::atomic<std::uint64_t> requested_{0};            // two bits for each form that was asked for, by its hash
  std::atomic<Form*> first_{nullptr};                  // changes under the lock
  PackedForms *previous_ = nullptr, *next_ = nullptr;  // neighbours in the list of objects with forms; under the lock
};

/// Frees all forms that are kept, of all blocks. From any thread.
void forget_packed();

}  // namespace kiln::cpu
