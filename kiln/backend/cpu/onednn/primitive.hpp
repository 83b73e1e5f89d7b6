// A cache of primitives by shape and thread. Creating one takes oneDNN 5 us if it still has the machine code, and up to
// 5 ms if not; finding one here takes some 50 ns.
#pragma once
#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <vector>

#include "kiln/backend/cpu/onednn/version.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/reflect/signature.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::cpu::onednn {

/// A primitive and the memories that it runs on. It belongs to one thread.
class Primitive {
 public:
  /// An empty primitive: oneDNN does not support the case.
  Primitive() = default;
  /// `roles` are the operands' roles (DNNL_ARG_SRC, ...), in the order of place()'s indices. The descriptor must come
  /// from describe().
  Primitive(const dnnl::primitive_desc_base& descriptor, std::initializer_list<int> roles);

  /// Returns false if there is none, or only oneDNN's own reference loop.
  explicit operator bool() const { return fast_; }
  /// Returns oneDNN's name of the kernel, "jit:avx512_core"; nothing if there is none.
  const std::string& implementation() const { return implementation_; }

  /// Returns the memory layout of the operand at `position`.
  MemoryDesc desc(std::size_t position) const { return memories_[position].get_desc(); }
  /// Sets the address of that operand.
  void place(std::size_t position, const void* data);
  void execute();
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // of the operands, and last of the scratchpad
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratchpad_bytes_ = 0;
  std::string implementation_;
  bool fast_ = false;
};

/// Returns the calling thread's scratch memory of at least this size. Its contents are those of the previous primitive.
std::byte* scratchpad(std::size_t bytes);

/// Returns the attributes of every descriptor: we provide the scratch memory, and a thread reuses its own.
const dnnl::primitive_attr& attributes();

/// A plain struct whose make() builds a primitive from its fields. The fields and the type are the primitive's key.
template <class R>
concept Recipe = Plain<R> && requires(const R& recipe) {
  { recipe.make() } -> std::same_as<Primitive>;
};

namespace detail {
Primitive& cached(const Signature& recipe, FunctionRef<Primitive()> make);
}

/// Returns this thread's primitive for that recipe, created if it has none. A dnnl::error in make() means that oneDNN
/// does not support the case. Valid until two calls later; the least recently used of kMostPrimitives is removed.
template <Recipe R>
Primitive& cached(const R& recipe) {
  return detail::cached(Signature(recipe), [&] { return recipe.make(); });
}
inline constexpr std::size_t kMostPrimitives = 512;
/// Returns how many primitives this thread has.
std::size_t cached_primitives();

}  // namespace kiln::cpu::onednn
