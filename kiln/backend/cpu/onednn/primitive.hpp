// Primitives, made once per shape and thread. To make one costs oneDNN 5 us where it still has the machine code, up
// to 5 ms where it has not; to find one here costs some 50 ns.
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

/// A primitive and the memories that it runs on. Belongs to one thread.
class Primitive {
 public:
  /// oneDNN has none for the case.
  Primitive() = default;
  /// `roles` are those of the operands (DNNL_ARG_SRC, ...), in the order that place() counts them in. The
  /// descriptor must have been made by describe().
  Primitive(const dnnl::primitive_desc_base& descriptor, std::initializer_list<int> roles);

  /// False where there is none, or only oneDNN's own reference loop.
  explicit operator bool() const { return fast_; }
  /// What oneDNN calls the kernel, "jit:avx512_core"; nothing where there is none.
  const std::string& implementation() const { return implementation_; }

  /// How the operand at `position` lies in memory.
  MemoryDesc desc(std::size_t position) const { return memories_[position].get_desc(); }
  /// Where it lies.
  void place(std::size_t position, const void* data);
  void execute();
  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

 private:
  dnnl::primitive primitive_;
  std::vector<dnnl::memory> memories_;  // of the operands and, last, of the scratchpad
  std::vector<dnnl_exec_arg_t> arguments_;
  std::size_t scratchpad_bytes_ = 0;
  std::string implementation_;
  bool fast_ = false;
};

/// The calling thread's working memory, at least so large. A primitive leaves its own in it, and finds there what the
/// one before left.
std::byte* scratchpad(std::size_t bytes);

/// What every descriptor is made with: working memory comes from us, and a thread reuses its own.
const dnnl::primitive_attr& attributes();

/// A plain struct whose make() builds a primitive from its own fields, which with its type are the primitive's name.
template <class R>
concept Recipe = Plain<R> && requires(const R& recipe) {
  { recipe.make() } -> std::same_as<Primitive>;
};

namespace detail {
Primitive& cached(const Signature& recipe, FunctionRef<Primitive()> make);
}

/// This thread's primitive of that recipe, made where it has none. A dnnl::error in make() means that oneDNN cannot do
/// the case. Valid until two later calls; the least recently used of kMostPrimitives gives way.
template <Recipe R>
Primitive& cached(const R& recipe) {
  return detail::cached(Signature(recipe), [&] { return recipe.make(); });
}
inline constexpr std::size_t kMostPrimitives = 512;
/// How many this thread holds.
std::size_t cached_primitives();

}  // namespace kiln::cpu::onednn
