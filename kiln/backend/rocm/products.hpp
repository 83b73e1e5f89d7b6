// Products of matrices by rocBLAS, which is opened on first use. Names and numbers are those of AMD's "rocBLAS API Reference".
#pragma once
#include <cstdint>
#include <mutex>

#include "kiln/backend/gpu/product.hpp"
#include "kiln/backend/rocm/hip.hpp"

namespace kiln::rocm {

class Products {
 public:
  explicit Products(Ref<Stream> stream) : stream_(std::move(stream)) {}
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// Submits a product to the stream. Returns false, with nothing done, where rocBLAS is missing, which is reported once,
  /// or does not compute it: biases and functions are not its business. Throws DeviceError if it fails.
  bool multiply(const gpu::Product& product);

 private:
  using Handle = struct _rocblas_handle*;
  using Status = int;  // rocblas_status; 0 is success
  bool takes(const gpu::Product& product);
  bool open();
  void connect();

  const Ref<Stream> stream_;
  std::mutex mutex_;
  bool opened_ = false;
  Handle handle_ = nullptr;  // null if rocBLAS is missing
  Status (*create_)(Handle* handle) = nullptr;
  Status (*destroy_)(Handle handle) = nullptr;
  Status (*set_stream_)(Handle handle, StreamHandle stream) = nullptr;
  Status (*gemm_)(Handle handle, int trans_a, int trans_b, int m, int n, int k, const void* alpha, const void* a,
                  int a_type, int a_stride, std::int64_t a_batch_stride, const void* b, int b_type, int b_stride,
                  std::int64_t b_batch_stride, const void* beta, const void* c, int c_type, int c_stride,
                  std::int64_t c_batch_stride, void* d, int d_type, int d_stride, std::int64_t d_batch_stride,
                  int batch, int compute_type, int algorithm, std::int32_t solution, std::uint32_t flags) = nullptr;
};

}  // namespace kiln::rocm
