#include "kiln/backend/cuda/program.hpp"

namespace kiln::cuda {
namespace {

constexpr std::int64_t kPlainSharedMemory = 48 << 10;  // beyond which a kernel must ask

}  // namespace

Program::Program(Ref<Stream> stream, Facts facts, const std::vector<std::byte>& code)
    : name(std::move(facts.name)),
      threads(static_cast<unsigned>(facts.threads)),
      shared_bytes(static_cast<unsigned>(facts.shared_bytes)),
      together(facts.together),
      words(std::move(facts.words)),
      stream_(std::move(stream)) {
  const DriverApi& api = stream_->api();
  stream_->check(api.module_load_data(&module_, code.data()), "loading kernel ", name);
  try {
    stream_->check(api.module_get_function(&function_, module_, facts.function.c_str()), "finding kernel ", name);
    if (facts.shared_bytes > kPlainSharedMemory)
      stream_->check(
          api.function_set_attribute(function_, kFunctionMaxDynamicSharedBytes, static_cast<int>(facts.shared_bytes)),
          "giving kernel ", name, " ", facts.shared_bytes, " bytes of shared memory");
  } catch (...) {
    api.module_unload(module_);
    throw;
  }
}

void Program::require_parameters() const {
  const DriverApi& api = stream_->api();
  if (!api.function_get_parameter) return;
  for (std::size_t i = 0, offset = 0, bytes = 0; i < words.size(); ++i) {
    const bool there = api.function_get_parameter(function_, i, &offset, &bytes) == kSuccess;
    require<DeviceError>(there == (i + 1 < words.size()), stream_->device(), ": kernel ", name, " has ",
                         there ? "more" : "fewer", " parameters than the ", words.size() - 1, " that were announced");
    require<DeviceError>(!there || bytes <= sizeof(std::uint64_t), stream_->device(), ": parameter ", i, " of kernel ",
                         name, " has ", bytes, " bytes, at most 8 can be given");
  }
}

}  // namespace kiln::cuda
