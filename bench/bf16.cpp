// bfloat16 against float32 on the processor: matrix products, linear layers and convolutions, forward and with their
// gradients. Prints microseconds of either, taken in turns, and how often the one goes into the other.
//
//   bench_bf16 [WORD]    only the rows whose name has WORD in it; KILN_THREADS chooses the threads
#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/spatial/conv.hpp"

namespace {

using namespace kiln;
using std::int64_t;

/// The processor's time of one thread, which a busy machine leaves as it is.
double now_us() { return 1e6 * (num_threads() == 1 ? bench::process_seconds() : bench::wall_seconds()); }

/// Microseconds of one call, over some milliseconds of them.
double time_of(const std::function<void()>& call) {
  for (int64_t calls = 1;; calls *= 2) {
    const double start = now_us();
    for (int64_t i = 0; i < calls; ++i) call();
    const double elapsed = now_us() - start;
    if (elapsed > 4000) return elapsed / static_cast<double>(calls);
  }
}

struct Row {
  std::string name;
  double operations;  // floating-point
  std::function<std::function<void()>(DType)> prepare;
};

Value numbers(const Shape& shape, DType dtype, const Device& device) {
  return cast(normal(shape, 0, 1, device), dtype);
}

Row matmul_row(int64_t batch, int64_t m, int64_t n, int64_t k, bool left = false, bool right = false) {
  const auto shape = [batch](int64_t rows, int64_t columns, bool transposed) {
    if (transposed) std::swap(rows, columns);
    return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
  };
  return {text("matmul ", batch > 1 ? text(batch, " x ") : "", m, " x ", n, " x ", k, left ? " A^T" : "",
               right ? " B^T" : ""),
          2.0 * static_cast<double>(batch * m * n * k), [=](DType dtype) {
            const Device device = Device::cpu();
            Value a = numbers(shape(m, k, left), dtype, device), b = numbers(shape(k, n, right), dtype, device);
            if (left) a = transpose(a);
            if (right) b = transpose(b);
            return [=] {
              const Value held = matmul(a, b);
              device.sync();
            };
          }};
}

/// x [rows, in] through a linear layer, and the three gradients of it.
Row linear_row(int64_t rows, int64_t in, int64_t out) {
  return {text("linear with gradients ", rows, " x ", in, " -> ", out), 6.0 * static_cast<double>(rows * in * out),
          [=](DType dtype) {
            const Device device = Device::cpu().autodiff();
            const Value x = numbers({rows, in}, dtype, device).require_grad();
            const Value weight = numbers({in, out}, dtype, device).require_grad();
            const Value bias = numbers({out}, dtype, device).require_grad(), seed = numbers({rows, out}, dtype, device);
            const Value wrt[] = {x, weight, bias};
            return [=, wrt = Values(std::begin(wrt), std::end(wrt))] {
              const Value y = matmul(x, weight) + bias;
              const Values held = grad({&y, 1}, {&seed, 1}, wrt);
              device.sync();
            };
          }};
}

struct ConvCase {
  int64_t batch, in, out, size, kernel, stride = 1;

  std::string name() const {
    return text(in, "->", out, " ", kernel, "x", kernel, stride > 1 ? text("/", stride) : "", " ", size, "^2 b", batch);
  }
  ConvOptions options() const { return {.stride = {stride, stride}, .padding = Spatial{kernel / 2, kernel / 2}}; }
  Value x(DType dtype, const Device& device) const { return numbers({batch, in, size, size}, dtype, device); }
  Value weight(DType dtype, const Device& device) const { return numbers({out, in, kernel, kernel}, dtype, device); }
  double operations() const {
    const int64_t result = (size - 1) / stride + 1;
    return 2.0 * static_cast<double>(batch * result * result * in * out * kernel * kernel);
  }
};

/// A convolution, or with both its gradients.
Row conv_row(const ConvCase& c, bool gradients) {
  return {text(gradients ? "conv with gradients " : "conv ", c.name()), (gradients ? 3 : 1) * c.operations(),
          [=](DType dtype) {
            const Device device = gradients ? Device::cpu().autodiff() : Device::cpu();
            Value x = c.x(dtype, device), weight = c.weight(dtype, device);
            if (gradients) x = x.require_grad(), weight = weight.require_grad();
            const Value wrt[] = {x, weight};
            const Value seed = conv(x.detach(), weight.detach(), {}, c.options());
            return [=, wrt = Values(std::begin(wrt), std::end(wrt))] {
              const Value y = conv(x, weight, {}, c.options());
              const Values held = gradients ? grad({&y, 1}, {&seed, 1}, wrt) : Values();
              device.sync();
            };
          }};
}

/// The convolution and its two gradients by themselves, on operands in channels-last order.
void add_passes(std::vector<Row>& rows, const ConvCase& c) {
  const auto made = [c](DType dtype) {
    const Device device = Device::cpu();
    const Value weight = c.weight(dtype, device), y = conv(c.x(dtype, device), weight, {}, c.options());
    const Value x = conv_input_backward(y, weight, {c.size, c.size}, c.options());
    device.sync();
    return std::tuple(device, x, weight, y);
  };
  rows.push_back({"forward " + c.name(), c.operations(), [=](DType dtype) {
                    return [=, all = made(dtype)] {
                      const auto& [device, x, weight, y] = all;
                      const Value held = conv(x, weight, {}, c.options());
                      device.sync();
                    };
                  }});
  rows.push_back({"gradient of x " + c.name(), c.operations(), [=](DType dtype) {
                    return [=, all = made(dtype)] {
                      const auto& [device, x, weight, y] = all;
                      const Value held = conv_input_backward(y, weight, {c.size, c.size}, c.options());
                      device.sync();
                    };
                  }});
  rows.push_back({"gradient of the weight " + c.name(), c.operations(), [=](DType dtype) {
                    return [=, all = made(dtype)] {
                      const auto& [device, x, weight, y] = all;
                      const Value held = conv_weight_backward(x, y, {c.kernel, c.kernel}, c.options());
                      device.sync();
                    };
                  }});
}

std::vector<Row> all_rows() {
  std::vector<Row> rows;
  for (const int64_t size : {64, 128, 256, 512, 1024, 2048}) rows.push_back(matmul_row(1, size, size, size));
  rows.push_back(matmul_row(1, 4096, 768, 3072));
  rows.push_back(matmul_row(1, 4096, 3072, 768));
  rows.push_back(matmul_row(1, 4096, 768, 3072, false, true));
  rows.push_back(matmul_row(1, 768, 3072, 4096, true));
  rows.push_back(matmul_row(1, 1024, 8192, 256));
  rows.push_back(matmul_row(1, 1024, 256, 256));
  for (const int64_t m : {1, 4, 16}) {
    rows.push_back(matmul_row(1, m, 3072, 768));
    rows.push_back(matmul_row(1, m, 3072, 768, false, true));
  }
  rows.push_back(matmul_row(96, 64, 128, 64));
  rows.push_back(matmul_row(64, 128, 128, 32, false, true));
  rows.push_back(matmul_row(64, 128, 32, 128));
  rows.push_back(linear_row(64, 784, 128));
  rows.push_back(linear_row(1024, 256, 1024));
  rows.push_back(linear_row(4096, 768, 3072));
  for (const bool gradients : {false, true}) {
    rows.push_back(conv_row({64, 1, 8, 28, 3}, gradients));
    rows.push_back(conv_row({64, 8, 16, 26, 3}, gradients));
    rows.push_back(conv_row({8, 64, 64, 56, 3}, gradients));
    rows.push_back(conv_row({8, 256, 256, 14, 3}, gradients));
    rows.push_back(conv_row({8, 64, 256, 56, 1}, gradients));
  }
  // Of a ResNet-50, with images of 64 x 64 and of 224 x 224.
  for (const int64_t size : {16, 56}) {
    add_passes(rows, {8, 3, 64, 4 * size, 7, 2});
    add_passes(rows, {8, 64, 256, size, 1});
    add_passes(rows, {8, 256, 64, size, 1});
    add_passes(rows, {8, 64, 64, size, 3});
    add_passes(rows, {8, 256, 512, size, 1, 2});
    add_passes(rows, {8, 128, 128, size, 3, 2});
    add_passes(rows, {8, 128, 128, size / 2, 3});
    add_passes(rows, {8, 512, 128, size / 2, 1});
    add_passes(rows, {8, 256, 256, size / 2, 3, 2});
    add_passes(rows, {8, 256, 256, size / 4, 3});
    add_passes(rows, {8, 256, 1024, size / 4, 1});
    add_passes(rows, {8, 1024, 256, size / 4, 1});
    add_passes(rows, {8, 1024, 2048, size / 4, 1, 2});
    add_passes(rows, {8, 512, 512, size / 4, 3, 2});
    add_passes(rows, {8, 512, 512, size / 8, 3});
    add_passes(rows, {8, 2048, 512, size / 8, 1});
  }
  return rows;
}

}  // namespace

int main(int count, char** words) {
  std::vector<Row> rows = all_rows();
  if (count > 1) std::erase_if(rows, [&](const Row& row) { return row.name.find(words[1]) == std::string::npos; });

  std::printf("%d threads\n%-44s %10s %10s %7s %10s\n", num_threads(), "us per call", "float32", "bfloat16", "ratio",
              "GFLOP/s");
  for (const Row& row : rows) {
    const std::function<void()> single = row.prepare(DType::F32), half = row.prepare(DType::BF16);
    single(), half();
    double us[2] = {1e30, 1e30};
    for (int repeat = 0; repeat < 9; ++repeat) {
      us[0] = std::min(us[0], time_of(single));
      us[1] = std::min(us[1], time_of(half));
    }
    std::printf("%-44s %10.1f %10.1f %7.2f %10.0f\n", row.name.c_str(), us[0], us[1], us[0] / us[1],
                row.operations / us[1] / 1000);
  }
}
