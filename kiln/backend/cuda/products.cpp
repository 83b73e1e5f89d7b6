#include "kiln/backend/cuda/products.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>

#include "kiln/ops/scope/float32_precision.hpp"

namespace kiln::cuda {
namespace {

using gpu::Product;

constexpr std::size_t kWorkspace = std::size_t{32} << 20;

std::optional<int> cublas_type_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return cublas::kFloat64;
    case DType::F32: return cublas::kFloat32;
    case DType::F16: return cublas::kFloat16;
    case DType::BF16: return cublas::kBfloat16;
    default: return std::nullopt;
  }
}

/// A matrix as cuBLASLt sees it; its rows are our columns: element [i, j] is i + j * stride elements from the start.
struct Matrix {
  std::int64_t rows, columns, stride, batch_stride;
  bool transposed;
  std::uint32_t alignment;
};

/// The key has all that the choice of an algorithm depends on.
struct ProductPlanKey {
  DType dtype, c_dtype;
  bool tf32;
  std::int64_t batch;
  Matrix a, b, c;
  std::uint32_t epilogue;
  std::uint32_t bias_alignment;  // 0: no bias
};

// cuBLASLt considers alignments up to 256 bytes.
std::uint32_t alignment_of(const std::byte* address) { return cuda::alignment_of(address, 256); }

// The stride of a dimension of size 1 is arbitrary, so it is normalized.
Matrix matrix(std::int64_t rows, std::int64_t columns, std::int64_t stride, std::int64_t batch_stride, bool transposed,
              const std::byte* data) {
  return {rows, columns, columns == 1 ? rows : stride, batch_stride, transposed, alignment_of(data)};
}

// Our rows are columns to cuBLASLt, so it computes c' = b' a'.
ProductPlanKey key_of(const Product& product) {
  const auto operand = [](const Product::Matrix& x, std::int64_t rows, std::int64_t columns) {
    return x.transposed ? matrix(rows, columns, x.stride, x.batch_stride, true, x.data)
                        : matrix(columns, rows, x.stride, x.batch_stride, false, x.data);
  };
  std::uint32_t epilogue = 0;
  if (product.bias) epilogue |= cublas::kEpilogueBias;
  if (product.function == Product::Function::Relu) epilogue |= cublas::kEpilogueRelu;
  if (product.function == Product::Function::GeluTanh) epilogue |= cublas::kEpilogueGelu;
  return {.dtype = product.dtype,
          .c_dtype = product.c_dtype,
          .tf32 = product.dtype == DType::F32 && Float32Precision::said() == Float32Precision::High,
          .batch = product.batch,
          .a = operand(product.b, product.k, product.n),
          .b = operand(product.a, product.m, product.k),
          .c = matrix(product.n, product.m, product.c_stride, product.c_batch_stride, false, product.c),
          .epilogue = epilogue ? epilogue : cublas::kEpilogueDefault,
          .bias_alignment = product.bias ? alignment_of(product.bias) : 0};
}

bool fits(const ProductPlanKey& plan_key) {
  const bool halves = plan_key.dtype == DType::F16 || plan_key.dtype == DType::BF16;
  if (!cublas_type_of(plan_key.dtype)) return false;
  if (plan_key.c_dtype != plan_key.dtype && !(halves && plan_key.c_dtype == DType::F32)) return false;
  const auto has_rows = [](const Matrix& x) { return x.stride >= x.rows; };
  return has_rows(plan_key.a) && has_rows(plan_key.b) && has_rows(plan_key.c) && plan_key.batch <= INT32_MAX;
}

}  // namespace

/// A plan: cuBLASLt's descriptors, and an algorithm for them.
class Products::Plan {
 public:
  /// `product` is an example of the question. Requests `wanted` algorithms, and takes the first.
  Plan(const cublas::Api& api, cublas::Handle handle, const ProductPlanKey& plan_key, const Product& product,
       std::size_t workspace_bytes, int wanted)
      : Plan(api) {
    const bool f64 = plan_key.dtype == DType::F64;
    const int compute = f64 ? cublas::kCompute64F : plan_key.tf32 ? cublas::kCompute32FFastTF32 : cublas::kCompute32F;
    check(api_.description_create(&description_, compute, f64 ? cublas::kFloat64 : cublas::kFloat32));
    const auto operation = [](const Matrix& x) { return x.transposed ? cublas::kTransposed : cublas::kAsItIs; };
    set(cublas::kDescTransA, operation(plan_key.a));
    set(cublas::kDescTransB, operation(plan_key.b));
    set(cublas::kDescEpilogue, plan_key.epilogue);
    if (product.bias) set_bias(product.bias);
    const int type = *cublas_type_of(plan_key.dtype), c_type = *cublas_type_of(plan_key.c_dtype);
    make_layout(a_, type, plan_key.a, plan_key.batch);
    make_layout(b_, type, plan_key.b, plan_key.batch);
    make_layout(c_, c_type, plan_key.c, plan_key.batch);
    ask(handle, plan_key, workspace_bytes, wanted);
  }
  ~Plan() {
    if (description_) api_.description_destroy(description_);
    for (const cublas::Layout layout : {a_, b_, c_})
      if (layout) api_.layout_destroy(layout);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  bool known() const { return known_; }
  const std::vector<cublas::Heuristic>& advised() const { return advised_; }
  const cublas::Algorithm& algorithm() const { return heuristic_.algorithm; }
  void take(const cublas::Heuristic& heuristic) { heuristic_ = heuristic; }
  /// Takes an algorithm that was chosen by an earlier process, if cuBLASLt still supports it.
  bool take(cublas::Handle handle, const cublas::Algorithm& algorithm, std::size_t workspace_bytes) {
    cublas::Heuristic checked{};
    if (api_.check(handle, description_, a_, b_, c_, c_, &algorithm, &checked) != 0 || checked.state != 0) return false;
    if (checked.workspace_bytes > workspace_bytes) return false;
    checked.algorithm = algorithm;
    heuristic_ = checked;
    return true;
  }
  mutable bool proven = false;  // has it run successfully?
  void set_bias(const std::byte* bias) const { set(cublas::kDescBiasPointer, bias); }
  cublas::Status run(cublas::Handle handle, const Product& product, Address workspace, StreamHandle stream) const {
    const auto alpha = static_cast<float>(product.alpha), beta = static_cast<float>(product.beta);
    const bool f64 = product.dtype == DType::F64;
    return api_.matmul(handle, description_, f64 ? static_cast<const void*>(&product.alpha) : &alpha, product.b.data,
                       a_, product.a.data, b_, f64 ? static_cast<const void*>(&product.beta) : &beta, product.c, c_,
                       product.c, c_, &heuristic_.algorithm, reinterpret_cast<void*>(workspace),
                       heuristic_.workspace_bytes, stream);
  }

 private:
  explicit Plan(const cublas::Api& api) : api_(api) {}
  void check(cublas::Status status) const {
    require<DeviceError>(status == 0, "cuda: cuBLASLt does not take a product: ", api_.get_status_string(status));
  }
  template <class T>
  void set(int attribute, const T& value) const {
    check(api_.description_set(description_, attribute, &value, sizeof(value)));
  }
  void make_layout(cublas::Layout& layout, int type, const Matrix& x, std::int64_t batch) const {
    check(api_.layout_create(&layout, type, static_cast<std::uint64_t>(x.rows), static_cast<std::uint64_t>(x.columns),
                             x.stride));
    const auto count = static_cast<std::int32_t>(batch);
    check(api_.layout_set(layout, cublas::kLayoutBatchCount, &count, sizeof(count)));
    check(api_.layout_set(layout, cublas::kLayoutStridedBatchOffset, &x.batch_stride, sizeof(x.batch_stride)));
  }
  void ask(cublas::Handle handle, const ProductPlanKey& plan_key, std::size_t workspace_bytes, int wanted) {
    struct HeldPlan {
      const cublas::Api& api;
      cublas::Preference preference = nullptr;
      ~HeldPlan() {
        if (preference) api.preference_destroy(preference);
      }
    } held{api_};
    check(api_.preference_create(&held.preference));
    const auto prefer = [&](int attribute, auto value) {
      check(api_.preference_set(held.preference, attribute, &value, sizeof(value)));
    };
    prefer(cublas::kPreferenceMaxWorkspaceBytes, static_cast<std::uint64_t>(workspace_bytes));
    prefer(cublas::kPreferenceMinAlignmentA, plan_key.a.alignment);
    prefer(cublas::kPreferenceMinAlignmentB, plan_key.b.alignment);
    prefer(cublas::kPreferenceMinAlignmentC, plan_key.c.alignment);
    prefer(cublas::kPreferenceMinAlignmentD, plan_key.c.alignment);
    int found = 0;
    advised_.resize(static_cast<std::size_t>(wanted));
    const cublas::Status status =
        api_.get_heuristic(handle, description_, a_, b_, c_, c_, held.preference, wanted, advised_.data(), &found);
    advised_.resize(status == 0 ? static_cast<std::size_t>(found) : 0);
    std::erase_if(advised_, [](const cublas::Heuristic& each) { return each.state != 0; });
    known_ = !advised_.empty();
    if (known_) heuristic_ = advised_[0];
  }

  const cublas::Api& api_;
  cublas::Description description_ = nullptr;
  cublas::Layout a_ = nullptr, b_ = nullptr, c_ = nullptr;
  std::vector<cublas::Heuristic> advised_;
  cublas::Heuristic heuristic_{};
  bool known_ = false;
};

Products::Products(Ref<Stream> stream, MemoryBudget& budget) : Products(stream, budget, Choices(stream)) {}
Products::Products(Ref<Stream> stream, MemoryBudget& budget, Choices choices)
    : stream_(std::move(stream)), choices_(std::move(choices)), workspace_(stream_, budget) {}

Products::~Products() {
  plans_.clear();
  stream_->last_api();  // enters the device's context
  if (handle_) api_->destroy(handle_);
}

bool Products::open() {
  if (handle_) return true;
  if (missing_) return false;
  try {
    api_ = &cublas::api();
    const cublas::Status status = api_->create(&handle_);
    require<DeviceError>(status == 0, "cuda: cuBLASLt does not start: ", api_->get_status_string(status));
  } catch (const Error& error) {
    std::fprintf(stderr, "kiln: products of matrices are slow: %s\n", error.what());
    missing_ = true;
    return false;
  }
  // The device runs one product after the other, so all share a workspace.
  (void)workspace_.reserve(kWorkspace);
  return true;
}

std::optional<const Products::Plan*> Products::find(const Product& product) const {
  const auto known = plans_.find(Signature(key_of(product)));
  return known == plans_.end() ? std::nullopt : std::optional<const Plan*>(known->second.second.get());
}

const Products::Plan* Products::make(const Product& product) {
  const ProductPlanKey plan_key = key_of(product);
  const Signature signature(plan_key);
  std::unique_ptr<Plan> plan;
  const int wanted = choices_.wanted() ? Choices::kMost : 1;
  if (fits(plan_key)) plan = std::make_unique<Plan>(*api_, handle_, plan_key, product, workspace_.bytes(), wanted);
  if (plan && !plan->known()) plan = nullptr;
  if (plan && plan->advised().size() > 1) {
    std::vector<std::uint64_t> words{workspace_.bytes()};
    reflect::append_words(words, plan_key);
    choose(*plan, words, product);
  }
  StoredSignature own(signature);
  const Signature key = own.get();
  return plans_.try_emplace(key, std::move(own), std::move(plan)).first->second.second.get();
}

// Algorithms are timed on the operands themselves, and on a temporary copy of the result.
void Products::choose(Plan& plan, std::span<const std::uint64_t> plan_key, const Product& product) {
  const std::size_t version = api_->get_version();
  if (const auto kept = choices_.find(plan_key, version); kept && plan.take(handle_, *kept, workspace_.bytes())) return;
  const DriverApi& driver = stream_->api();
  const std::int64_t elements =
      (product.batch - 1) * product.c_batch_stride + (product.m - 1) * product.c_stride + product.n;
  const std::size_t bytes = static_cast<std::size_t>(elements) * size_of(product.c_dtype);
  struct Room {
    const DriverApi& driver;
    Address start = 0;
    ~Room() {
      if (start) driver.memory_free(start);
    }
  } room{driver};
  if (driver.memory_alloc(&room.start, bytes) != kSuccess) return;  // the first algorithm is used, this time
  stream_->check(driver.fill(room.start, 0, bytes, stream_->handle()), "clearing ", bytes, " bytes");
  Product trial = product;
  trial.c = reinterpret_cast<std::byte*>(room.start);
  if (product.bias) plan.set_bias(product.bias);
  const std::vector<cublas::Heuristic> advised = plan.advised();
  const auto best = choices_.quickest(static_cast<int>(advised.size()), [&](int i) {
    plan.take(advised[static_cast<std::size_t>(i)]);
    return plan.run(handle_, trial, workspace_.address(), stream_->handle()) == 0;
  });
  plan.take(advised[static_cast<std::size_t>(best.value_or(0))]);
  if (best) choices_.keep(plan_key, version, plan.algorithm());
}

bool Products::multiply(const Product& product) {
  stream_->api();
  const std::lock_guard lock(mutex_);
  if (!open()) return false;
  const auto known = find(product);
  const Plan* const plan = known ? *known : make(product);
  if (!plan || !run(*plan, product)) return false;
  plan->proven = true;
  return true;
}

const Products::Plan* Products::proven(const Product& product) {
  const std::lock_guard lock(mutex_);
  const Plan* const plan = handle_ ? find(product).value_or(nullptr) : nullptr;
  return plan && plan->proven ? plan : nullptr;
}

void Products::multiply(const Plan& plan, const Product& product) {
  const std::lock_guard lock(mutex_);
  require<DeviceError>(run(plan, product), stream_->device(), ": cublasLtMatmul no longer takes what it took before");
}

bool Products::run(const Plan& plan, const Product& product) {
  if (product.bias) plan.set_bias(product.bias);
  static const std::string kName = "cublasLtMatmul";
  stream_->note(kName);
  const cublas::Status status = plan.run(handle_, product, workspace_.address(), stream_->handle());
  if (status == cublas::kNotSupported) return false;
  require<DeviceError>(status == 0, stream_->device(), ": cublasLtMatmul of [", product.m, ", ", product.k, "] x [",
                       product.k, ", ", product.n, "]: ", api_->get_status_string(status));
  return true;
}

}  // namespace kiln::cuda
