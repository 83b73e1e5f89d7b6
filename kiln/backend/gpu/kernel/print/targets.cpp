#include "kiln/backend/gpu/kernel/print/targets.hpp"

namespace kiln::gpu {
namespace {

// Blocks beyond the limit of one direction continue in the second (lower/grid.cpp).
constexpr std::string_view kGlslBlock = "int(gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x)",
                           kGlslBlocks = "int(gl_NumWorkGroups.y * gl_NumWorkGroups.x)",
                           kWgslBlock = "i32(kiln_block.y * kiln_blocks.x + kiln_block.x)",
                           kWgslBlocks = "i32(kiln_blocks.y * kiln_blocks.x)",
                           kMetalBlock = "(int)(kiln_block.y * kiln_blocks.x + kiln_block.x)",
                           kMetalBlocks = "(int)(kiln_blocks.y * kiln_blocks.x)";

}  // namespace

const Target kCudaTarget{
    .dialect = &expr::kCuda,
    .thread = "(int)threadIdx.x",
    .block = "(int)blockIdx.x",
    .blocks = "(int)gridDim.x",
    .barrier = "__syncthreads();",
    .shared_barrier = "__syncthreads();",
    .fence = "__threadfence();",
    .shuffle = "__shfl_sync(0xffffffffu, $0, $1)",
    .bits_of_f32 = "__float_as_uint($0)",
    .f32_of_bits = "__uint_as_float($0)",
    .bits_of_f64 = "__double_as_longlong($0)",
    .f64_of_bits = "__longlong_as_double($0)",
    .updates = {"atomicAdd(&$0, $1)", "atomicMax(&$0, $1)", "atomicMin(&$0, $1)", "atomicAnd(&$0, $1)",
                "atomicOr(&$0, $1)", "atomicExch(&$0, $1)", "atomicCAS(&$0, $2, $1)"},
    .weak_exchange = "",
    .unrolled = "#pragma unroll",
    .rolled = "#pragma unroll 1",
    .single = "f",
    .has_pointers = true,
};

const Target kHipTarget = [] {
  Target target = kCudaTarget;
  target.dialect = &expr::kHip;
  target.shuffle = "__shfl($0, $1, 32)";
  // HIP's own functions of these names take no signed integers of 64 bits before ROCm 6.
  target.updates[1] = "__hip_atomic_fetch_max(&$0, $1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)";
  target.updates[2] = "__hip_atomic_fetch_min(&$0, $1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)";
  return target;
}();

const Target kGlslTarget{
    .dialect = &expr::kGlsl,
    .thread = "int(gl_LocalInvocationID.x)",
    .block = kGlslBlock,
    .blocks = kGlslBlocks,
    .barrier = "groupMemoryBarrier(); barrier(); groupMemoryBarrier();",
    .shared_barrier = "barrier();",
    .fence = "memoryBarrier();",
    .shuffle = "subgroupShuffle($0, (gl_SubgroupInvocationID & ~31u) | uint($1))",
    .bits_of_f32 = "floatBitsToUint($0)",
    .f32_of_bits = "uintBitsToFloat($0)",
    .bits_of_f64 = "packInt2x32(ivec2(unpackDouble2x32($0)))",
    .f64_of_bits = "packDouble2x32(uvec2(unpackInt2x32($0)))",
    .updates = {"atomicAdd($0, $1)", "atomicMax($0, $1)", "atomicMin($0, $1)", "atomicAnd($0, $1)", "atomicOr($0, $1)",
                "atomicExchange($0, $1)", "atomicCompSwap($0, $2, $1)"},
    .weak_exchange = "",
    .unrolled = "[[unroll]]",
    .rolled = "[[dont_unroll]]",
    .single = "",
    .has_pointers = false,
};

const Target kVulkanTarget = [] {
  Target target = kGlslTarget;
  target.has_references = true;
  return target;
}();

const Target kVulkanHalvesTarget = [] {
  Target target = kVulkanTarget;
  target.dialect = &expr::kGlslHalves;
  return target;
}();

const Target kVulkanWordsTarget = [] {
  Target target = kVulkanTarget;
  target.has_words = true;
  return target;
}();

const Target kWgslTarget{
    .dialect = &expr::kWgsl,
    .thread = "i32(kiln_thread.x)",
    .block = kWgslBlock,
    .blocks = kWgslBlocks,
    .barrier = "workgroupBarrier(); storageBarrier();",
    .shared_barrier = "workgroupBarrier();",
    .fence = "",
    .shuffle = "",
    .bits_of_f32 = "bitcast<u32>($0)",
    .f32_of_bits = "bitcast<f32>($0)",
    .bits_of_f64 = "",
    .f64_of_bits = "",
    .updates = {"atomicAdd(&$0, $1)", "atomicMax(&$0, $1)", "atomicMin(&$0, $1)", "atomicAnd(&$0, $1)",
                "atomicOr(&$0, $1)", "atomicExchange(&$0, $1)", ""},
    .weak_exchange =
        "loop { let tried = atomicCompareExchangeWeak(&$0, $2, $1); $3 = tried.old_value; "
        "if (tried.exchanged || $3 != $2) { break; } }",
    .unrolled = "",
    .rolled = "",
    .single = "",
    .has_pointers = false,
};

const Target kMetalTarget{
    .dialect = &expr::kMetal,
    .thread = "(int)kiln_thread.x",
    .block = kMetalBlock,
    .blocks = kMetalBlocks,
    .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);",
    .shared_barrier = "threadgroup_barrier(mem_flags::mem_threadgroup);",
    .fence = "",
    .shuffle = "simd_shuffle($0, (ushort)($1))",
    .bits_of_f32 = "as_type<uint>($0)",
    .f32_of_bits = "as_type<float>($0)",
    .bits_of_f64 = "",
    .f64_of_bits = "",
    .updates = {"atomic_fetch_add_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)",
                "atomic_fetch_max_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)",
                "atomic_fetch_min_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)",
                "atomic_fetch_and_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)",
                "atomic_fetch_or_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)",
                "atomic_exchange_explicit(($s atomic_$t*)&$0, $1, memory_order_relaxed)", ""},
    .weak_exchange =
        "while (!atomic_compare_exchange_weak_explicit(($s atomic_$t*)&$0, &$3, $1, memory_order_relaxed, "
        "memory_order_relaxed) && $3 == $2) {}",
    .unrolled = "#pragma unroll",
    .rolled = "#pragma nounroll",
    .single = "",
    .has_pointers = false,
};

}  // namespace kiln::gpu
