// Matrix products: square ones, one of a transformer's layer, and a batch of small ones.
#include "bench/suite/workload.hpp"
#include "kiln/core/text.hpp"

namespace bench {
namespace {

Workload product(std::string name, std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, DType dtype) {
  const auto shape = [=](std::int64_t rows, std::int64_t columns) {
    return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
  };
  const double size = static_cast<double>(size_of(dtype) * batch);
  return {.name = std::move(name),
          .work = {.read = size * static_cast<double>(m * k + k * n),
                   .written = size * static_cast<double>(m * n),
                   .flops = 2.0 * static_cast<double>(batch * m * k * n),
                   .bf16 = dtype == DType::BF16},
          .make =
              [=] {
                const Value a = normals(shape(m, k), dtype), b = normals(shape(k, n), dtype);
                return timed(device(), [=] { return Values{matmul(a, b)}; });
              },
          .reference = onednn_matmul(batch, m, k, n, dtype)};
}

}  // namespace

std::vector<Workload> matmul_workloads() {
  struct Size {
    std::int64_t m, k, n;
  };
  std::vector<Workload> rows;
  std::vector<Size> sizes{{64, 64, 64},       {256, 256, 256},    {512, 512, 512},
                          {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 768, 3072}};
  if (on_gpu()) sizes = {{1024, 1024, 1024}, {4096, 4096, 4096}, {8192, 8192, 8192}};
  for (const DType dtype : {DType::F32, DType::BF16})
    for (const auto& [m, k, n] : sizes)
      rows.push_back(product(text("matmul_", m, "x", k, "x", n, "_", dtype), 1, m, k, n, dtype));
  rows.push_back(on_gpu() ? product("matmul_batched", 256, 512, 64, 512, DType::F32)
                          : product("matmul_batched", 64, 128, 64, 128, DType::F32));
  return rows;
}

}  // namespace bench
