#include "kiln/backend/gpu/simulated/profiles.hpp"

#include "kiln/ops/expression/dialect.hpp"

namespace kiln::gpu {
namespace {

constexpr Types kWords{DType::F32, DType::I32, DType::U32};
constexpr Types kLongs{DType::I64, DType::U64};
constexpr Types kComputed = kWords | kLongs | Types{DType::F64, DType::Bool};
constexpr Types kNoDouble = Types::all() - Types{DType::F64};
constexpr std::int64_t kMemory = std::int64_t{4} << 30;

/// Multiprocessors are few, so that tests split work over several of them and over rounds of them.
constexpr Capabilities cuda() {
  return {.fragments = kHalfFragments, .together = 4, .multiprocessors = 4, .memory = kMemory};
}

/// AMD's of the CDNA architectures, by HIP: wavefronts of 64 threads and 64 KB of shared memory a block (AMD, "Instruction Set
/// Architecture" of the MI200). What its matrix cores hold, Kiln does not know.
constexpr Capabilities rocm() {
  Capabilities has = cuda();
  has.fragments = {};
  has.lanes = {64, 64};
  has.shared_memory = 64 << 10;
  return has;
}

/// A device with Vulkan 1.3 and what its optional features are on most desktop GPUs: 64-bit integers and 8- and 16-bit
/// storage. The limits are the least that the Vulkan 1.3 specification requires ("Required Limits"):
/// maxComputeWorkGroupInvocations 128 is raised to 256 by Vulkan 1.4, maxComputeSharedMemorySize 16384,
/// maxUniformBufferRange 16384, maxPushConstantsSize 128, minStorageBufferOffsetAlignment at most 256,
/// maxComputeWorkGroupCount 65535 in each direction, maxStorageBufferRange 2^27. The buffers are those of MoltenVK;
/// drivers of desktop GPUs have many more.
constexpr Capabilities vulkan(int lanes, Types computes) {
  return {.computes = computes,
          .loads = Types::all() - (kComputed - computes),
          .stores = Types::all() - (kComputed - computes),
          .shares = Types::all() - (kComputed - computes),
          .updates = {DType::I32, DType::U32},
          .updates_shared = {DType::I32, DType::U32},
          .numbers = computes,
          .language = &expr::kGlsl,
          .lanes = {lanes, lanes},
          .most_threads = 256,
          .shared_memory = 16 << 10,
          .addressing = Addressing::Bindings,
          .most_buffers = 31,
          .number_bytes = 16 << 10,
          .direct_number_bytes = 128,
          .binding_bytes = std::int64_t{1} << 27,
          .binding_alignment = 256,
          .most_blocks = {65535, 65535, 65535},
          .multiprocessors = 4,
          .memory = kMemory};
}

/// The device passes buffers as addresses, as drivers of Vulkan with bufferDeviceAddress do.
constexpr Capabilities with_addresses(Capabilities has) {
  has.addressing = Addressing::Addresses;
  has.most_buffers = 512;
  has.number_bytes = has.direct_number_bytes = 512 * 8;
  has.binding_bytes = std::int64_t{1} << 62;
  has.binding_alignment = 1;
  return has;
}

/// NVIDIA's through Vulkan, whose warps hold matrices in a way that it keeps to itself.
constexpr Capabilities vulkan_matrices() {
  Capabilities has = with_addresses(vulkan(32, kComputed));
  has.matrices = kHalfMatrices;
  has.most_threads = 1024;
  has.shared_memory = 48 << 10;
  return has;
}

/// SwiftShader, which computes on the processor: no types of 64 bits, addresses of buffers all the same.
constexpr Capabilities vulkan_words() {
  Capabilities has = with_addresses(vulkan(4, kWords | Types{DType::Bool}));
  has.loads = has.stores = has.shares = has.numbers = kWords;
  return has;
}

/// Apple's GPUs from the M1 on (Apple, "Metal Feature Set Tables", families Apple7 and Metal3: 31 entries of the buffer
/// argument table, 32 KB of threadgroup memory, 1024 threads to a threadgroup; setBytes takes 4 KB). The Metal Shading
/// Language has no double, and atomics of 32 bits. Blocks do not wait for each other.
constexpr Capabilities metal() {
  return {.computes = kComputed - Types{DType::F64},
          .loads = kNoDouble,
          .stores = kNoDouble,
          .shares = kNoDouble,
          .updates = {DType::I32, DType::U32},
          .updates_shared = {DType::I32, DType::U32},
          .numbers = kComputed - Types{DType::F64},
          .language = &expr::kMetal,
          .shared_memory = 32 << 10,
          .fences = false,
          .addressing = Addressing::Bindings,
          .most_buffers = 30,
          .number_bytes = 4 << 10,
          .multiprocessors = 4,
          .memory = kMemory};
}

/// What every adapter has without asking (W3C, "WebGPU", section 3.6.2, default limits): 8 storage buffers to a stage,
/// of 128 MiB, at multiples of 256 bytes; 16 KB of workgroup storage, 256 invocations, 65535 workgroups in each
/// direction, uniform buffers of 64 KB. WGSL computes in f32, i32, u32 and bool; what is in memory are
/// words.
constexpr Capabilities webgpu() {
  return {.computes = kWords | Types{DType::Bool},
          .loads = kWords,
          .stores = kWords,
          .shares = kWords,
          .updates = {DType::I32, DType::U32},
          .updates_shared = {DType::I32, DType::U32},
          .numbers = kWords,
          .language = &expr::kWgsl,
          .lanes = {0, 0},
          .most_threads = 256,
          .shared_memory = 16 << 10,
          .proves_barriers = true,
          .fences = false,
          .addressing = Addressing::Bindings,
          .most_buffers = 8,
          .number_bytes = 64 << 10,
          .binding_bytes = std::int64_t{1} << 27,
          .binding_alignment = 256,
          .separate_bindings = true,
          .most_blocks = {65535, 65535, 65535},
          .multiprocessors = 4,
          .memory = kMemory};
}

constexpr Profile kProfiles[] = {
    {"simulated", cuda()},
    {"simulated:cuda", cuda()},
    {"simulated:rocm", rocm()},
    // Lanes of Intel's and lavapipe's width; of AMD's, which has float64 too; and a device without shuffles.
    {"simulated:vulkan8", vulkan(8, kComputed - Types{DType::F64})},
    {"simulated:vulkan64", vulkan(64, kComputed)},
    {"simulated:vulkan0", vulkan(0, kComputed - Types{DType::F64})},
    {"simulated:vulkan32", vulkan_matrices()},
    {"simulated:vulkan4", vulkan_words()},
    {"simulated:metal", metal()},
    {"simulated:webgpu", webgpu()},
};

}  // namespace

std::span<const Profile> profiles() { return kProfiles; }

}  // namespace kiln::gpu
