#include "kiln/backend/webgpu/adapter.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <unistd.h>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::webgpu {
namespace {

constexpr std::string_view kBackends[] = {"an unknown API", "nothing", "WebGPU", "Direct3D 11", "Direct3D 12",
                                          "Metal",          "Vulkan",  "OpenGL", "OpenGL ES"};

/// Shared with the callback, which may come when nobody waits any more.
struct Answer {
  bool given = false;
  AdapterHandle adapter = nullptr;
  std::string words;
};
void answer(std::uint32_t status, AdapterHandle adapter, Words words, void* to, void*) {
  const std::unique_ptr<std::shared_ptr<Answer>> answer(static_cast<std::shared_ptr<Answer>*>(to));
  **answer = {true, status == kSuccess ? adapter : nullptr, escaped(words.view(), true)};
}

/// Callbacks of a request run at once, or when events are processed.
constexpr std::chrono::seconds kPatience(10);

/// The most that blocks of memory may have together, whose addresses are pointers.
constexpr std::int64_t kAddresses = sizeof(void*) == 8 ? std::int64_t{1} << 40 : std::int64_t{3} << 30;

/// Half of the machine's memory; a browser does not tell it, and says by itself when there is no more.
std::int64_t shared_memory() {
#ifdef __EMSCRIPTEN__
  return kAddresses;
#else
  return static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE) / 2;
#endif
}

}  // namespace

Adapter request_adapter(const Provider& provider) {
  const Functions& f = provider.functions;
  const AdapterOptions options{.power = kHighPerformance};
  const auto shared = std::make_shared<Answer>();
  const Answer& got = *shared;
  f.request_adapter(provider.instance, &options, {.call = &answer, .to = new std::shared_ptr<Answer>(shared)});
  const auto end = std::chrono::steady_clock::now() + kPatience;
  for (int turn = 0; !got.given && std::chrono::steady_clock::now() < end; ++turn) {
    provider.process_events(nullptr);
    if (!got.given) provider.pause(turn);
  }
  require<DeviceError>(got.adapter != nullptr, "webgpu: ", provider.library, " finds no GPU",
                       got.words.empty() ? "" : ": ", got.words, "; ", provider.remedy);
  Adapter made;
  made.handle = got.adapter;
  AdapterInfo info;
  f.adapter_info(made.handle, &info);
  f.adapter_limits(made.handle, &made.limits);
  const std::string_view api = kBackends[info.backend < std::size(kBackends) ? info.backend : 0];
  made.name = text(shown(info.device.view()), ", by ", api);
  made.type = info.type;
  // Its kernels end at once, and leave their results as they were.
  require<DeviceError>(info.backend != kNull, "webgpu: ", provider.library,
                       " finds no GPU that it can use, and offers an adapter that computes nothing; ", provider.remedy);
  require<DeviceError>(made.limits.storage_buffers >= 4 && made.limits.storage_bytes >= (1 << 20) &&
                           made.limits.threads >= 128 && made.limits.blocks >= 1024,
                       "webgpu: ", made.name, " has ", made.limits.storage_buffers, " buffers of ",
                       made.limits.storage_bytes, " bytes, ", made.limits.threads, " threads and ", made.limits.blocks,
                       " blocks, which is less than any kernel needs");
  return made;
}

const Adapter& adapter() {
  static const Adapter found = request_adapter(provider());
  return found;
}

gpu::Capabilities Adapter::capabilities() const {
  constexpr gpu::Types kWords{DType::F32, DType::I32, DType::U32};
  const bool is_own = type == kDiscrete;  // the memory, rather than the machine's
  return {.computes = kWords | gpu::Types{DType::Bool},
          .loads = kWords,
          .stores = kWords,
          .shares = kWords,
          .updates = {DType::I32, DType::U32},
          .updates_shared = {DType::I32, DType::U32},
          .numbers = kWords,
          .lanes = {0, 0},
          .most_threads = static_cast<int>(std::min({limits.threads, limits.threads_x, 1024u})),
          .shared_memory = limits.shared_bytes,
          .proves_barriers = true,
          .fences = false,
          .addressing = gpu::Addressing::Bindings,
          // One more binding is the uniform block.
          .most_buffers = static_cast<int>(std::min(limits.storage_buffers, limits.bindings_per_group - 1)),
          .number_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(limits.uniform_bytes, 64 << 10)),
          .direct_number_bytes = 0,
          .binding_bytes = static_cast<std::int64_t>(std::min<std::uint64_t>(limits.storage_bytes, INT64_MAX)),
          .binding_alignment = std::max(limits.storage_alignment, 4u),
          .separate_bindings = true,
          .most_blocks = {limits.blocks, limits.blocks, limits.blocks},
          // WebGPU tells neither how many there are nor how much memory there is.
          .multiprocessors = type == kDiscrete     ? 64
                             : type == kIntegrated ? 16
                                                   : 4,
          .memory = is_own ? kAddresses : shared_memory()};
}

}  // namespace kiln::webgpu
