#include "kiln/backend/cuda/convolutions.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/core/setting/setting.hpp"

namespace kiln::cuda {
namespace {

using cudnn::Attribute, cudnn::Descriptor, cudnn::Kind;
using Of = gpu::Convolution::Kind;

constexpr std::int64_t kWorkspace = std::int64_t{256} << 20;  // bytes, the most that a plan may need

std::optional<cudnn::DataType> type_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return cudnn::DataType::Double;
    case DType::F32: return cudnn::DataType::Float;
    case DType::F16: return cudnn::DataType::Half;
    case DType::BF16: return cudnn::DataType::BFloat16;
    default: return std::nullopt;
  }
}

struct Operand {
  Shape sizes;
  Dims strides;
  std::int64_t alignment;
};

/// All that a plan is chosen by, of two spatial dimensions or three.
struct Question {
  Of kind;
  DType dtype;
  bool tf32;
  Operand x, weight, y;
  Spatial stride, padding, padding_after, dilation;
};

// cuDNN has no convolutions of one dimension.
Operand operand_of(const gpu::Convolution::Tensor& x) {
  Operand made{x.sizes, x.strides, alignment_of(x.data, 16)};
  if (x.sizes.size() == 3) {
    made.sizes.insert(2, 1);
    made.strides.insert(2, x.sizes[2] * x.strides[2]);
  }
  return made;
}
Spatial of_two(Spatial axes, std::int64_t first) {
  if (axes.size() == 1) axes.insert(0, first);
  return axes;
}

Question question_of(const gpu::Convolution& of, bool tf32) {
  return {.kind = of.kind,
          .dtype = of.dtype,
          .tf32 = tf32,
          .x = operand_of(of.x),
          .weight = operand_of(of.weight),
          .y = operand_of(of.y),
          .stride = of_two(of.stride, 1),
          .padding = of_two(of.padding, 0),
          .padding_after = of_two(of.padding_after, 0),
          .dilation = of_two(of.dilation, 1)};
}

bool fits(const Question& question) {
  if (!type_of(question.dtype)) return false;
  return std::ranges::all_of(std::array{&question.x, &question.weight, &question.y}, [](const Operand* x) {
    std::int64_t reach = 0;  // some of cuDNN's kernels count in 32 bits
    for (int dim = 0; dim < x->sizes.size(); ++dim) {
      if (x->sizes[dim] < 1 || x->strides[dim] < 1) return false;
      if (x->sizes[dim] > INT32_MAX || x->strides[dim] > INT32_MAX) return false;
      reach += (x->sizes[dim] - 1) * x->strides[dim];
    }
    return reach < INT32_MAX;
  });
}

/// The attributes of an operation.
struct Operation {
  Kind kind;
  Attribute alpha, beta, convolution, x, weight, y;
};
Operation operation_of(Of kind) {
  using enum Attribute;
  switch (kind) {
    case Of::DataGradient:
      return {Kind::ConvolutionBackwardData, DataAlpha, DataBeta, DataConvolution, DataX, DataWeight, DataY};
    case Of::WeightGradient:
      return {
          Kind::ConvolutionBackwardFilter, FilterAlpha, FilterBeta, FilterConvolution, FilterX, FilterWeight, FilterY};
    default:
      return {
          Kind::ConvolutionForward, ForwardAlpha, ForwardBeta, ForwardConvolution, ForwardX, ForwardWeight, ForwardY};
  }
}

constexpr std::array<std::int64_t, 3> kIds{1, 2, 3};  // of x, weight and y

std::span<const std::int64_t> values(const auto& list) { return {list.begin(), static_cast<std::size_t>(list.size())}; }

Descriptor tensor(const cudnn::Api& api, std::int64_t id, cudnn::DataType type, const Operand& x) {
  Descriptor made(api, Kind::Tensor);
  made.set(Attribute::TensorUniqueId, id)
      .set(Attribute::TensorDataType, type)
      .set(Attribute::TensorByteAlignment, x.alignment)
      .set(Attribute::TensorDimensions, values(x.sizes))
      .set(Attribute::TensorStrides, values(x.strides))
      .finalize();
  return made;
}

Descriptor convolution(const cudnn::Api& api, const Question& question) {
  using enum Attribute;
  const bool f64 = question.dtype == DType::F64;
  Descriptor made(api, Kind::Convolution);
  made.set(ConvolutionComputeType, f64 ? cudnn::DataType::Double : cudnn::DataType::Float)
      .set(ConvolutionMode, cudnn::Mode::CrossCorrelation)
      .set(ConvolutionSpatialDims, std::int64_t{question.stride.size()})
      .set(ConvolutionDilations, values(question.dilation))
      .set(ConvolutionStrides, values(question.stride))
      .set(ConvolutionPrePaddings, values(question.padding))
      .set(ConvolutionPostPaddings, values(question.padding_after))
      .finalize();
  return made;
}

// Transforms lose digits, and carry what is not finite to neighbours.
bool is_exact(std::span<const cudnn::Note> notes, const Question& question) {
  using enum cudnn::Note;
  return std::ranges::none_of(notes, [&](cudnn::Note note) {
    switch (note) {
      case TensorCore: return question.dtype == DType::F32 && !question.tf32;
      case DownConvertInputs:
      case ReducedPrecisionReduction:
      case Fft:
      case Nondeterministic:
      case Winograd: return true;
      default: return false;
    }
  });
}

}  // namespace

/// The answer: an operation, and a plan for it.
class Convolutions::Plan {
 public:
  Plan(const cudnn::Api& api, cudnn::Handle handle, const Question& question)
      : api_(api), handle_(handle), graph_(api, Kind::Graph), plan_(api, Kind::Plan) {
    describe(question);
    for (const auto mode : {cudnn::HeuristicsMode::A, cudnn::HeuristicsMode::Fallback})
      if (!known_) choose(mode, question);
  }

  bool known() const { return known_; }
  std::int64_t workspace_bytes() const { return workspace_bytes_; }
  std::int64_t engine() const { return engine_; }
  mutable bool proven = false;   // it has run
  mutable bool refused = false;  // or would not
  cudnn::Status run(const Addresses& addresses, Address workspace) const {
    Descriptor pack(api_, Kind::VariantPack);
    pack.set(Attribute::PackUniqueIds, values(kIds))
        .set(Attribute::PackDataPointers, std::span<void* const>(addresses))
        .set(Attribute::PackWorkspace, reinterpret_cast<void*>(workspace))
        .finalize();
    return pack.sound() ? api_.execute(handle_, plan_.handle(), pack.handle()) : pack.status();
  }

 private:
  void describe(const Question& question) {
    const cudnn::DataType type = *type_of(question.dtype);
    const Operation names = operation_of(question.kind);
    parts_.push_back(tensor(api_, kIds[0], type, question.x));
    parts_.push_back(tensor(api_, kIds[1], type, question.weight));
    parts_.push_back(tensor(api_, kIds[2], type, question.y));
    parts_.push_back(convolution(api_, question));
    Descriptor operation(api_, names.kind);
    operation.set(names.x, parts_[0]).set(names.weight, parts_[1]).set(names.y, parts_[2]);
    operation.set(names.convolution, parts_[3]);
    if (question.dtype == DType::F64) operation.set(names.alpha, 1.0).set(names.beta, 0.0);
    else operation.set(names.alpha, 1.0f).set(names.beta, 0.0f);
    parts_.push_back(std::move(operation.finalize()));
    graph_.set(Attribute::GraphHandle, handle_).set(Attribute::GraphOperations, parts_.back()).finalize();
  }

  void choose(cudnn::HeuristicsMode mode, const Question& question) {
    Descriptor heuristics(api_, Kind::Heuristics);
    heuristics.set(Attribute::HeuristicsGraph, graph_).set(Attribute::HeuristicsMode, mode).finalize();
    const std::int64_t most = heuristics.get(Attribute::HeuristicsResults, std::span<cudnn::DescriptorHandle>());
    std::vector<Descriptor> configs;
    std::vector<cudnn::DescriptorHandle> handles;
    for (std::int64_t i = 0; i < most; ++i) handles.push_back(configs.emplace_back(api_, Kind::EngineConfig).handle());
    const std::int64_t count = heuristics.get(Attribute::HeuristicsResults, std::span(handles));
    for (std::int64_t i = 0; i < std::min(count, most) && !known_; ++i)
      consider(configs[static_cast<std::size_t>(i)], question);
  }

  void consider(Descriptor& config, const Question& question) {
    Descriptor engine(api_, Kind::Engine);
    cudnn::DescriptorHandle handle = engine.handle();
    if (config.get(Attribute::ConfigEngine, std::span(&handle, 1)) != 1) return;
    std::array<cudnn::Note, 32> notes;
    const std::int64_t count = engine.get(Attribute::EngineNumericalNotes, std::span<cudnn::Note>(notes));
    if (count < 0 || count > std::ssize(notes)) return;
    if (!is_exact(std::span(notes).first(static_cast<std::size_t>(count)), question)) return;

    Descriptor plan(api_, Kind::Plan);
    plan.set(Attribute::PlanHandle, handle_).set(Attribute::PlanConfig, config).finalize();
    std::int64_t bytes = 0;
    if (plan.get(Attribute::PlanWorkspaceSize, std::span(&bytes, 1)) != 1 || bytes > kWorkspace) return;
    (void)engine.get(Attribute::EngineGlobalIndex, std::span(&engine_, 1));
    workspace_bytes_ = bytes;
    parts_.push_back(std::move(config));
    plan_ = std::move(plan);
    known_ = true;
  }

  const cudnn::Api& api_;
  const cudnn::Handle handle_;
  std::vector<Descriptor> parts_;  // of which the graph and the plan are made
  Descriptor graph_, plan_;
  std::int64_t workspace_bytes_ = 0, engine_ = -1;
  bool known_ = false;
};

Convolutions::Convolutions(Ref<Stream> stream)
    : stream_(std::move(stream)),
      wanted_(is_set("KILN_CUDNN", true)),
      tf32_(is_set("KILN_TF32", false)),
      logs_(is_logged("cuda")) {}

Convolutions::~Convolutions() {
  const DriverApi& driver = stream_->last_api();
  plans_.clear();
  if (handle_) api_->destroy(handle_);
  if (workspace_) driver.memory_free(workspace_);
}

bool Convolutions::open() {
  if (handle_) return true;
  if (missing_ || !wanted_) return false;
  try {
    (void)cublas::api();  // without which cuDNN ends the program
    api_ = &cudnn::api();
    const cudnn::Status status = api_->create(&handle_);
    require<DeviceError>(status == 0, "cuda: cuDNN does not start: ", api_->get_error_string(status));
    const cudnn::Status stream = api_->set_stream(handle_, stream_->handle());
    require<DeviceError>(stream == 0, "cuda: cuDNN does not take a stream: ", api_->get_error_string(stream));
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: convolutions are slow: %s\n", error.what());
    missing_ = true;
    if (handle_) api_->destroy(handle_);
    handle_ = nullptr;
  }
  return !missing_;
}

// The device does one convolution after the other, so all share it. It stays where it is, as graphs have its address.
bool Convolutions::reserve_workspace(std::int64_t least) {
  for (std::int64_t bytes = kWorkspace; !workspace_ && bytes >= least; bytes /= 2)
    if (stream_->api().memory_alloc(&workspace_, static_cast<std::size_t>(bytes)) == kSuccess) workspace_bytes_ = bytes;
    else workspace_ = 0;
  return workspace_bytes_ >= least;
}

std::unique_ptr<Convolutions::Plan> Convolutions::make(const gpu::Convolution& convolution) {
  const Question question = question_of(convolution, tf32_);
  if (!fits(question)) return nullptr;
  auto plan = std::make_unique<Plan>(*api_, handle_, question);
  const bool known = plan->known() && (!plan->workspace_bytes() || reserve_workspace(plan->workspace_bytes()));
  if (logs_)
    std::fprintf(stderr, "kiln: %s: convolution x %s weight %s y %s %s: %s %lld, workspace %lld\n",
                 stream_->device().c_str(), text(question.x.sizes).c_str(), text(question.weight.sizes).c_str(),
                 text(question.y.sizes).c_str(), text(question.dtype).c_str(), known ? "engine" : "not known,",
                 static_cast<long long>(plan->engine()), static_cast<long long>(plan->workspace_bytes()));
  return known ? std::move(plan) : nullptr;
}

const Convolutions::Plan* Convolutions::find(const gpu::Convolution& convolution) {
  const std::lock_guard lock(mutex_);
  if (!wanted_ || missing_) return nullptr;
  const Question question = question_of(convolution, tf32_);
  const Signature signature(question);
  auto known = plans_.find(signature);
  if (known == plans_.end()) {
    stream_->api();
    if (!open()) return nullptr;
    std::unique_ptr<Plan> plan = make(convolution);
    OwnSignature own(signature);
    const Signature key = own.get();
    known = plans_.try_emplace(key, std::move(own), std::move(plan)).first;
  }
  const Plan* const plan = known->second.second.get();
  return plan && !plan->refused ? plan : nullptr;
}

bool Convolutions::proven(const Plan& plan) {
  const std::lock_guard lock(mutex_);
  return plan.proven;
}

bool Convolutions::prove(const Plan& plan, const Addresses& addresses) {
  const std::lock_guard lock(mutex_);
  const cudnn::Status status = run(plan, addresses);
  plan.proven |= status == 0;
  plan.refused |= status != 0;
  if (status && logs_)
    std::fprintf(stderr, "kiln: %s: cudnnBackendExecute: %s\n", stream_->device().c_str(),
                 api_->get_error_string(status));
  return status == 0;
}

void Convolutions::convolve(const Plan& plan, const Addresses& addresses) {
  const std::lock_guard lock(mutex_);
  const cudnn::Status status = run(plan, addresses);
  require<DeviceError>(status == 0, stream_->device(), ": cudnnBackendExecute: ", api_->get_error_string(status));
}

cudnn::Status Convolutions::run(const Plan& plan, const Addresses& addresses) {
  stream_->api();
  static const std::string kName = "cudnnBackendExecute";
  stream_->note(kName);
  return plan.run(addresses, workspace_);
}

}  // namespace kiln::cuda
