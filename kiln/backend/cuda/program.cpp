#include "kiln/backend/cuda/program.hpp"

namespace kiln::cuda {
namespace {

constexpr std::int64_t kPlainSharedMemory = 48 << 10;  // beyond which a kernel must ask

}  // namespace

Program::Program(Ref<Stream> stream, const gpu::Kernel& kernel, const gpu::KernelText& text,
                 const std::vector<std::byte>& code)
    : name(kernel.name),
      threads(static_cast<unsigned>(kernel.threads)),
      shared_bytes(static_cast<unsigned>(text.shared_bytes)),
      words(kernel.words()),
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

}  // namespace kiln::cuda
