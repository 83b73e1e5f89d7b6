// Capabilities: what a device computes, stores and has room for. Whoever chooses, lowers, checks or prints a kernel
// asks here, and never which device it is. What the device's libraries do is not among them (library.hpp).
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "kiln/core/dtype.hpp"

namespace kiln::expr {
struct Dialect;
}

namespace kiln::gpu {

/// A set of element types.
class Types {
 public:
  constexpr Types() = default;
  constexpr Types(std::initializer_list<DType> types) {
    for (const DType type : types) bits_ |= bit(type);
  }
  static constexpr Types all() { return Types((std::uint32_t{1} << kDTypeCount) - 1); }
  constexpr bool has(DType type) const { return bits_ & bit(type); }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr Types operator|(Types a, Types b) { return Types(a.bits_ | b.bits_); }
  friend constexpr Types operator-(Types a, Types b) { return Types(a.bits_ & ~b.bits_); }
  friend constexpr bool operator==(Types, Types) = default;

 private:
  constexpr explicit Types(std::uint32_t bits) : bits_(bits) {}
  static constexpr std::uint32_t bit(DType type) { return std::uint32_t{1} << static_cast<int>(type); }
  std::uint32_t bits_ = 0;
};

/// A product of matrices that the threads of a warp compute together: d [m, n] = a [m, k] b [k, n] + c.
struct Fragment {
  int m, n, k;
  DType factors, sums;  // elements of a and b; of c and d
};

/// How a kernel gets its buffers.
enum class Addressing : std::uint8_t {
  Addresses,  // as addresses, which may point anywhere into a tensor; a block may choose among them (Builder::inputs)
  Bindings,   // as ranges of memory objects, which begin at multiples of Capabilities::binding_alignment
};

/// The threads of a warp, among which shuffles pass values; the device may choose any power of two in this range.
struct Lanes {
  int least = 32, most = 32;  // 0: the device has no shuffles
  constexpr bool operator==(const Lanes&) const = default;
};

/// The defaults are those of NVIDIA's devices.
struct Capabilities {
  // ---- types ----
  // The types of values (expr::computed_in): float64, float32, integers of 64 and 32 bits; and Bool.
  Types computes{DType::F64, DType::F32, DType::I64, DType::I32, DType::U64, DType::U32, DType::Bool};
  // The types of elements that a thread loads from a buffer, and stores to one, without touching their neighbours.
  Types loads = Types::all(), stores = Types::all();
  Types shares = Types::all();  // elements of shared memory
  // Elements that are updated atomically: in buffers, and in shared memory.
  Types updates{DType::F64, DType::F32, DType::I64, DType::I32, DType::U64, DType::U32}, updates_shared = updates;
  Types numbers = Types::all();  // numbers that are parameters
  int widest = 16;               // bytes, the most that one load or store moves
  // The language that its kernels are printed in, which may lack functions of some types (GLSL has few of float64); null:
  // it has all.
  const expr::Dialect* language = nullptr;

  // ---- a block ----
  Lanes lanes{};
  int most_threads = 1024;
  std::int64_t shared_memory = 48 << 10;  // bytes, the most that a block may have
  // A barrier under a condition is an error unless the device's compiler sees that the condition is the same for all
  // threads of the block: one that comes from memory is not (W3C, "WebGPU Shading Language", "Uniformity analysis").
  bool proves_barriers = false;
  bool fences = true;                        // among blocks (Builder::fence)
  std::span<const Fragment> fragments = {};  // matrix units (Builder::multiply_fragments)
  std::span<const Fragment> matrices = {};   // those whose layout is the device's own (Builder::matrix)

  // ---- parameters ----
  Addressing addressing = Addressing::Addresses;
  int most_buffers = 512;                              // of a kernel, each entry of a table counted
  std::int64_t number_bytes = 512 * 8;                 // of all numbers of a kernel, in a uniform block if need be
  std::int64_t direct_number_bytes = 512 * 8;          // of numbers that are passed by themselves, 8 bytes each
  std::int64_t binding_bytes = std::int64_t{1} << 62;  // from where a buffer begins to its last byte
  std::int64_t binding_alignment = 1;                  // bytes; of the place where a buffer begins
  // A launch must not bind memory twice that it may write to (lower/lower.hpp: with_shared_bindings).
  bool separate_bindings = false;

  // ---- a launch ----
  std::array<std::int64_t, 3> most_blocks{INT32_MAX, 65535, 65535};  // in each direction of the grid
  std::int64_t together = 0;  // blocks of any kernel that may wait for each other (Builder::meet); 0: none

  // ---- the device ----
  int multiprocessors = 1;
  std::int64_t memory = 0;  // bytes that programs may hold

  /// Do shuffles work among each `threads` threads of a block that follow each other? A device that always has a
  /// multiple of so many lanes passes values among parts of them.
  constexpr bool shuffles_among(int threads) const { return lanes.least >= threads && lanes.least % threads == 0; }
  /// Does it multiply fragments of these elements, with sums in float32?
  constexpr bool multiplies(DType factors) const { return find(fragments, factors) != nullptr; }
  /// The matrices of these elements, with sums in float32, that warps hold; null: there are none.
  constexpr const Fragment* matrix(DType factors) const { return find(matrices, factors); }

 private:
  static constexpr const Fragment* find(std::span<const Fragment> all, DType factors) {
    for (const Fragment& fragment : all)
      if (fragment.factors == factors && fragment.sums == DType::F32) return &fragment;
    return nullptr;
  }
};

/// The matrices that most devices have (VK_KHR_cooperative_matrix).
inline constexpr Fragment kHalfMatrices[] = {{16, 16, 16, DType::F16, DType::F32},
                                             {16, 16, 16, DType::BF16, DType::F32}};

/// NVIDIA's (PTX's mma.m16n8k16), whose layout Builder::multiply_fragments describes.
inline constexpr Fragment kHalfFragments[] = {{16, 8, 16, DType::F16, DType::F32},
                                              {16, 8, 16, DType::BF16, DType::F32}};

}  // namespace kiln::gpu
