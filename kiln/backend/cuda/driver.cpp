#include "kiln/backend/cuda/driver.hpp"

#include <algorithm>
#include <cstdio>

#include "kiln/backend/gpu/kernel/print.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

constexpr std::int64_t kPlainSharedMemory = 48 << 10;  // beyond which a kernel must ask
constexpr std::size_t kMostParameters = 512;           // 4 KiB

class Program final : public gpu::Code {
 public:
  Program(Ref<Stream> stream, const gpu::Kernel& kernel, const gpu::KernelText& text,
          const std::vector<std::byte>& code)
      : name(kernel.name),
        threads(static_cast<unsigned>(kernel.threads)),
        shared_bytes(static_cast<unsigned>(text.shared_bytes)),
        parameters(kernel.parameters.size()),
        stream_(std::move(stream)) {
    const DriverApi& api = stream_->api();
    stream_->check(api.module_load_data(&module_, code.data()), "loading kernel ", name);
    try {
      stream_->check(api.module_get_function(&function_, module_, text.function.c_str()), "finding kernel ", name);
      if (text.shared_bytes > kPlainSharedMemory)
        stream_->check(
            api.function_set_attribute(function_, kFunctionMaxDynamicSharedBytes, static_cast<int>(text.shared_bytes)),
            "giving kernel ", name, " ", text.shared_bytes, " bytes of shared memory");
    } catch (...) {
      api.module_unload(module_);
      throw;
    }
  }
  ~Program() override { stream_->last_api().module_unload(module_); }
  FunctionHandle function() const { return function_; }

  const std::string name;
  const unsigned threads, shared_bytes;
  const std::size_t parameters;

 private:
  const Ref<Stream> stream_;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

gpu::Capabilities capabilities_of(const Stream& stream) {
  std::size_t free = 0, total = 0;
  stream.check(stream.api().memory_get_info(&free, &total), "asking for the device's memory");
  // Code, and libraries' own memory, take some of it later.
  const std::size_t kept_free = std::min(free / 16, std::size_t{1} << 30);
  return {.multiprocessors = stream.attribute(kMultiprocessorCount),
          .memory = static_cast<std::int64_t>(free - kept_free),
          .shared_memory = stream.attribute(kMaxSharedMemoryPerBlockOptin)};
}

}  // namespace

Driver::Driver(int index)
    : stream_(make_ref<Stream>(index)),
      capabilities_(capabilities_of(*stream_)),
      compiler_(stream_->architecture()),
      memory_(stream_),
      uploads_(stream_),
      downloads_(make_ref<Downloads>(stream_)),
      products_(stream_),
      logs_(is_logged("cuda")) {}

Ref<gpu::Code> Driver::compile(const gpu::Kernel& kernel) {
  const gpu::KernelText text = gpu::print(kernel, expr::kCuda);
  require<DeviceError>(text.shared_bytes <= capabilities_.shared_memory, name(), ": kernel ", kernel.name, " needs ",
                       text.shared_bytes, " bytes of shared memory, a block has ", capabilities_.shared_memory);
  require<DeviceError>(kernel.parameters.size() <= kMostParameters, name(), ": kernel ", kernel.name, " has ",
                       kernel.parameters.size(), " parameters, at most ", kMostParameters, " can be given");
  return make_ref<Program>(stream_, kernel, text, compiler_.code(kernel.name, text.text));
}

void Driver::launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) {
  if (blocks <= 0) return;
  const auto& program = static_cast<const Program&>(code);
  require<DeviceError>(blocks <= INT32_MAX, name(), ": kernel ", program.name, " cannot have ", blocks, " blocks");
  KILN_CHECK(arguments.size() == program.parameters);
  void* places[kMostParameters];
  for (std::size_t i = 0; i < arguments.size(); ++i) places[i] = const_cast<std::uint64_t*>(&arguments[i]);
  if (logs_)
    std::fprintf(stderr, "kiln: %s: %s, %lld blocks of %u\n", name().c_str(), program.name.c_str(),
                 static_cast<long long>(blocks), program.threads);
  stream_->note(program.name);
  stream_->check(stream_->api().launch_kernel(program.function(), static_cast<unsigned>(blocks), 1, 1, program.threads,
                                              1, 1, program.shared_bytes, stream_->handle(), places, nullptr),
                 "launching kernel ", program.name);
}

void Driver::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (!bytes) return;
  stream_->check(stream_->api().copy_on_device(address_of(to), address_of(from), bytes, stream_->handle()), "copying ",
                 bytes, " bytes");
}

void Driver::clear(std::byte* start, std::size_t bytes) {
  if (!bytes) return;
  stream_->check(stream_->api().fill(address_of(start), 0, bytes, stream_->handle()), "clearing ", bytes, " bytes");
}

}  // namespace kiln::cuda
