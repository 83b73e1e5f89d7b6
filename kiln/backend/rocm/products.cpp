#include "kiln/backend/rocm/products.hpp"

#include <cstdio>
#include <optional>

namespace kiln::rocm {
namespace {

constexpr int kAsItIs = 111, kTransposed = 112;  // rocblas_operation

/// rocblas_datatype
std::optional<int> number_of(DType dtype) {
  switch (dtype) {
    case DType::F16: return 150;
    case DType::F32: return 151;
    case DType::F64: return 152;
    case DType::BF16: return 168;
    default: return std::nullopt;
  }
}

constexpr int kSuccessful = 0, kNotImplemented = 2, kInvalidSize = 4, kInvalidValue = 11;  // rocblas_status

bool fits(std::int64_t size) { return size <= INT32_MAX; }

/// The step between lines of [rows, columns], or of columns where transposed: at least their length, which also takes the
/// place of the step that a single line does not have. None if lines overlap.
std::optional<int> step_of(const gpu::Product::Matrix& matrix, std::int64_t rows, std::int64_t columns) {
  const std::int64_t lines = matrix.transposed ? columns : rows, length = matrix.transposed ? rows : columns;
  if (lines > 1 && matrix.stride < length) return std::nullopt;
  return static_cast<int>(lines == 1 ? length : matrix.stride);
}

}  // namespace

Products::~Products() {
  if (handle_) destroy_(handle_);
}

void Products::connect() {
  static const SharedLibrary library(
      "rocm", "multiplies matrices",
      {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "librocblas.so"},
      "install AMD's rocBLAS; Kiln's own kernels multiply until then");
  library.find("rocblas_create_handle", create_);
  library.find("rocblas_destroy_handle", destroy_);
  library.find("rocblas_set_stream", set_stream_);
  library.find("rocblas_gemm_strided_batched_ex", gemm_);
  Handle handle = nullptr;
  require<DeviceError>(create_(&handle) == 0, "rocm: rocBLAS does not start");
  const bool ready = set_stream_(handle, stream_->handle()) == 0;
  if (!ready) destroy_(handle);
  require<DeviceError>(ready, "rocm: rocBLAS does not take a stream");
  handle_ = handle;
}

bool Products::open() {
  const std::lock_guard lock(mutex_);
  if (!opened_) {
    opened_ = true;
    try {
      (void)stream_->api();  // makes the device current, which a handle is for
      connect();
    } catch (const DeviceError& error) { std::fprintf(stderr, "kiln: %s\n", error.what()); }
  }
  return handle_ != nullptr;
}

bool Products::takes(const gpu::Product& product) {
  if (product.bias || product.function != gpu::Product::Function::None) return false;
  if (!number_of(product.dtype) || !number_of(product.c_dtype)) return false;
  for (const std::int64_t size :
       {product.m, product.n, product.k, product.batch, product.a.stride, product.b.stride, product.c_stride})
    if (!fits(size)) return false;
  if (!step_of(product.a, product.m, product.k) || !step_of(product.b, product.k, product.n)) return false;
  return open();
}

// Matrices are column-major there: it computes the transposed c of the transposed b and a.
bool Products::multiply(const gpu::Product& product) {
  if (!takes(product)) return false;
  const bool is_double = product.dtype == DType::F64;
  const auto alpha = static_cast<float>(product.alpha), beta = static_cast<float>(product.beta);
  const void* const scale = is_double ? static_cast<const void*>(&product.alpha) : &alpha;
  const void* const keep = is_double ? static_cast<const void*>(&product.beta) : &beta;
  const int type = *number_of(product.dtype), c_type = *number_of(product.c_dtype);
  const auto as_int = [](std::int64_t size) { return static_cast<int>(size); };
  const auto operation = [](const gpu::Product::Matrix& matrix) { return matrix.transposed ? kTransposed : kAsItIs; };
  const std::lock_guard lock(mutex_);
  (void)stream_->api();
  const Status status = gemm_(
      handle_, operation(product.b), operation(product.a), as_int(product.n), as_int(product.m), as_int(product.k),
      scale, product.b.data, type, *step_of(product.b, product.k, product.n), product.b.batch_stride, product.a.data,
      type, *step_of(product.a, product.m, product.k), product.a.batch_stride, keep, product.c, c_type,
      as_int(product.c_stride), product.c_batch_stride, product.c, c_type, as_int(product.c_stride),
      product.c_batch_stride, as_int(product.batch), is_double ? type : *number_of(DType::F32), 0, 0, 0);
  if (status == kNotImplemented || status == kInvalidSize || status == kInvalidValue) return false;
  require<DeviceError>(status == kSuccessful, stream_->device(), ": rocBLAS fails with status ", status,
                       " at a product of [", product.m, ", ", product.k, "] and [", product.k, ", ", product.n, "]");
  return true;
}

}  // namespace kiln::rocm
