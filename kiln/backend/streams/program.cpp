#include "kiln/backend/streams/program.hpp"

namespace kiln::streams {
namespace {

constexpr unsigned kPlainSharedMemory = 48 << 10;  // a kernel that needs more must ask for it

}  // namespace

Program::Program(Ref<Stream> stream, ProgramTraits traits, std::future<std::vector<std::byte>> code)
    : name(std::move(traits.name)),
      threads(static_cast<unsigned>(traits.threads)),
      shared_bytes(static_cast<unsigned>(traits.shared_bytes)),
      together(traits.together),
      words(std::move(traits.words)),
      function_name_(std::move(traits.function)),
      stream_(std::move(stream)),
      code_(code.share()) {}

FunctionHandle Program::function() const {
  try {
    return loaded();
  } catch (const Error& error) {
    stream_->lose(text("kernel ", name, " could not be launched"));
    throw;
  }
}

FunctionHandle Program::loaded() const {
  std::call_once(once_, [this] { load(); });
  return function_;
}

void Program::load() const {
  const std::vector<std::byte>& code = code_.get();
  const DriverApi& api = stream_->api();
  stream_->check(api.module_load_data(&module_, code.data()), "loading kernel ", name);
  stream_->check(api.module_get_function(&function_, module_, function_name_.c_str()), "finding kernel ", name);
  if (shared_bytes > kPlainSharedMemory && api.function_set_attribute)
    stream_->check(
        api.function_set_attribute(function_, kFunctionMaxDynamicSharedBytes, static_cast<int>(shared_bytes)),
        "giving kernel ", name, " ", shared_bytes, " bytes of shared memory");
}

void Program::require_parameters() const {
  const FunctionHandle function = loaded();
  const DriverApi& api = stream_->api();
  if (!api.function_get_parameter) return;
  for (std::size_t i = 0, offset = 0, bytes = 0; i < words.size(); ++i) {
    const bool there = api.function_get_parameter(function, i, &offset, &bytes) == kSuccess;
    require<DeviceError>(there == (i + 1 < words.size()), stream_->device(), ": kernel ", name, " has ",
                         there ? "more" : "fewer", " parameters than the ", words.size() - 1, " that were announced");
    require<DeviceError>(!there || bytes <= sizeof(std::uint64_t), stream_->device(), ": parameter ", i, " of kernel ",
                         name, " has ", bytes, " bytes, at most 8 can be given");
  }
}

}  // namespace kiln::streams
