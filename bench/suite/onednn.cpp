// Matrix products by oneDNN itself: the least that Kiln's calls of it could cost.
#include <algorithm>

#include "bench/suite/workload.hpp"
#include "kiln/backend/cpu/onednn/version.hpp"
#include "kiln/core/parallel.hpp"

extern "C" void omp_set_num_threads(int threads);

namespace bench {
namespace {

using dnnl::memory;

memory filled(const memory::desc& desc, DType dtype) {
  memory made(desc, cpu::onednn::engine());
  const std::size_t count = desc.get_size() / size_of(dtype);
  if (dtype == DType::F32) std::fill_n(static_cast<float*>(made.get_data_handle()), count, 1.0f);
  else std::fill_n(static_cast<std::uint16_t*>(made.get_data_handle()), count, std::uint16_t{0x3f80});  // 1 in bfloat16
  return made;
}

}  // namespace

std::function<Sample()> onednn_matmul(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, DType dtype) {
  return [=]() -> Sample {
    { const cpu::onednn::OneThread chooses_instruction_set; }
    omp_set_num_threads(num_threads());
    const auto type = dtype == DType::F32 ? memory::data_type::f32 : memory::data_type::bf16;
    const auto matrix = [=](std::int64_t rows, std::int64_t columns) {
      return batch > 1 ? memory::desc({batch, rows, columns}, type, memory::format_tag::abc)
                       : memory::desc({rows, columns}, type, memory::format_tag::ab);
    };
    const memory a = filled(matrix(m, k), dtype), b = filled(matrix(k, n), dtype), c = filled(matrix(m, n), dtype);
    const dnnl::stream stream(cpu::onednn::engine());
    if (dtype == DType::F32 && batch == 1)  // faster than the primitive where the matrices are large
      return timed([=] {
        dnnl_sgemm('N', 'N', m, n, k, 1, static_cast<float*>(a.get_data_handle()), k,
                   static_cast<float*>(b.get_data_handle()), n, 0, static_cast<float*>(c.get_data_handle()), n);
      });
    const dnnl::matmul product(cpu::onednn::describe<dnnl::matmul>({}, a.get_desc(), b.get_desc(), c.get_desc()));
    return timed([=] {
      product.execute(stream, {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}});
      dnnl::stream(stream).wait();
    });
  };
}

}  // namespace bench
