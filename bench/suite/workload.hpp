// A workload: a named piece of work that the suite measures, in Kiln and in its peers. Its names, shapes, element types
// and work are the same everywhere; peers/torch_suite.py has a row for each.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace bench {

using namespace kiln;

/// The least that a workload needs: bytes from and to memory, and floating-point operations. From these and the
/// machine's rates follows the shortest possible time; zeros mean that they are not known.
struct Work {
  double read = 0, written = 0;  // bytes
  double flops = 0;
  bool bf16 = false;  // the products are of bfloat16 numbers
};

/// Does the work once and returns how many milliseconds it took.
using Sample = std::function<double()>;

struct Workload {
  std::string name;
  Work work;
  std::function<Sample()> make;  // allocates and fills the operands
  std::function<Sample()> reference =
      {};  // the same work by hand or by a library called directly, if there is such a version
};

/// The time in milliseconds on the clock that samples use.
double now_ms();
/// Returns a sample that runs `f()` and waits for the device. Its results are kept until the device is done, and are
/// released within the time.
Sample timed(const Device& device, std::function<Values()> f);
/// Returns a sample of an `f()` that is done when it returns.
Sample timed(std::function<void()> f);

/// The device that --device names, by the names that programs use; the processor without that option.
Device device();
/// Workloads of a GPU are larger: a processor would take minutes for them.
bool on_gpu();
/// Normally distributed numbers.
Value normals(const Shape& shape, DType dtype = DType::F32, const Device& on = device());

std::vector<Workload> matmul_workloads();
std::vector<Workload> elementwise_workloads();
std::vector<Workload> reduce_workloads();
std::vector<Workload> everyday_workloads();
std::vector<Workload> transfer_workloads();
std::vector<Workload> layout_workloads();
std::vector<Workload> overhead_workloads();
std::vector<Workload> attention_workloads();
std::vector<Workload> model_workloads();
std::vector<Workload> detection_workloads();
std::vector<Workload> decode_workloads();
std::vector<Workload> optimizer_workloads();

/// a [m, k] x b [k, n] by a direct call of oneDNN: with the primitive created, the result allocated, and oneDNN's own
/// threads. Empty in a build without oneDNN.
std::function<Sample()> onednn_matmul(std::int64_t batch, std::int64_t m, std::int64_t k, std::int64_t n, DType dtype);
/// x * Phi(x) of `count` numbers in one loop over memory, with the processor's widest vectors.
std::function<Sample()> gelu_loop(std::int64_t count);
/// gelu(x + bias) / 2 + x of a matrix of `side` rows, in the same way.
std::function<Sample()> bias_gelu_residual_loop(std::int64_t side);

}  // namespace bench
