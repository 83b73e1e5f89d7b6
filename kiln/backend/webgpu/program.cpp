#include "kiln/backend/webgpu/program.hpp"

#include "kiln/backend/gpu/kernel/lower/lower.hpp"
#include "kiln/backend/gpu/kernel/refusal.hpp"

namespace kiln::webgpu {
namespace {

/// What a kernel of a user's binds, as lowering would say it: buffers from their bases, then a uniform block with their
/// offsets and the numbers.
gpu::Kernel bound_by(const gpu::TextKernel& text) {
  using enum gpu::Origin::Kind;
  gpu::Kernel made{.name = text.name};
  for (std::uint16_t i = 0; i < text.buffers; ++i) {
    made.parameters.push_back({gpu::Parameter::Kind::Both, DType::U32});
    made.origins.push_back({.kind = Base, .of = i});
    made.uniform.push_back({.kind = Offset, .of = i, .size = 4, .words = 1});
  }
  for (auto i = static_cast<std::uint16_t>(text.buffers); i < text.parameters(); ++i)
    made.uniform.push_back({.kind = Argument, .of = i, .words = 1});
  if (made.uniform.empty()) return made;
  const auto words = static_cast<std::uint16_t>(made.uniform.size());
  made.parameters.push_back({gpu::Parameter::Kind::Input, DType::U32, 0, words});
  made.origins.push_back({.kind = Uniform});
  return made;
}

}  // namespace

Pipeline::Pipeline(Ref<Session> session, gpu::Kernel kernel)
    : Pipeline(std::move(session), kernel, gpu::print(kernel, gpu::kWgslTarget)) {}

Pipeline::Pipeline(Ref<Session> session, gpu::Kernel kernel, const gpu::KernelText& text)
    : session_(std::move(session)), kernel_(std::move(kernel)) {
  session_->check();
  const std::optional<Trouble> trouble = session_->trouble_of([&] { make(text.text, text.function); });
  if (!trouble && handle_ && layout_) return;
  {
    const std::lock_guard lock(session_->mutex());
    release();
  }
  session_->check();
  if (trouble && trouble->memory) fail<MemoryError>("webgpu: kernel ", kernel_.name, ": ", trouble->words);
  // Another kernel, or what the operation is made of, may do.
  throw gpu::Refused({.reason = gpu::Refusal::Reason::Limit,
                      .sentence = kiln::text("webgpu: kernel ", kernel_.name, " does not compile: ",
                                             trouble ? trouble->words : "no reason is given", "\n", text.text)});
}

Pipeline::~Pipeline() {
  const std::lock_guard lock(session_->mutex());
  release();
}

void Pipeline::release() {
  if (handle_) session_->functions().pipeline_release(handle_);
  if (layout_) session_->functions().group_layout_release(layout_);
  handle_ = nullptr;
  layout_ = nullptr;
}

GroupLayoutHandle Pipeline::make_layout() const {
  std::vector<GroupLayoutEntry> entries;
  for (const gpu::Parameter& parameter : kernel_.parameters) {
    if (parameter.kind == gpu::Parameter::Kind::Number) continue;
    GroupLayoutEntry entry;
    entry.binding = static_cast<std::uint32_t>(entries.size());
    entry.buffer.type = parameter.uniform ? kUniformBinding : kStorageBinding;
    entries.push_back(entry);
  }
  const GroupLayoutDescriptor descriptor{.count = entries.size(), .entries = entries.data()};
  return session_->functions().create_group_layout(session_->device(), &descriptor);
}

void Pipeline::make(const std::string& text, const std::string& function) {
  const Functions& f = session_->functions();
  WgslSource source;
  source.code = std::string_view(text);
  const LabelledDescriptor module{.next = &source.chain, .label = std::string_view(kernel_.name)};
  const ModuleHandle made = f.create_module(session_->device(), &module);
  layout_ = make_layout();
  if (!made || !layout_) return;
  const PipelineLayoutDescriptor layout{.count = 1, .groups = &layout_};
  const PipelineLayoutHandle all = f.create_pipeline_layout(session_->device(), &layout);
  PipelineDescriptor descriptor;
  descriptor.label = std::string_view(kernel_.name);
  descriptor.layout = all;
  descriptor.compute.module = made;
  descriptor.compute.entry = std::string_view(function);
  handle_ = f.create_pipeline(session_->device(), &descriptor);
  f.pipeline_layout_release(all);
  f.module_release(made);
}

Program::Program(Ref<Session> session, const gpu::TextKernel& kernel)
    : session_(session), plain_(session, bound_by(kernel), {kernel.text, kernel.name}), is_text_(true) {}

const Pipeline& Program::sharing(const std::vector<std::uint16_t>& sharers) const {
  if (!gpu::are_shared(sharers)) return plain_;
  require<DeviceError>(!is_text_, "webgpu: kernel ", plain_.kernel().name,
                       ": two of its buffers lie in one tensor, whose memory WebGPU binds once: copy one of them");
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Pipeline>& known = sharing_[sharers];
  if (!known) known = std::make_unique<Pipeline>(session_, gpu::with_shared_bindings(plain_.kernel(), sharers));
  return *known;
}

}  // namespace kiln::webgpu
