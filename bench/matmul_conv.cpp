// Matrix products and convolutions: our calls against oneDNN called directly with everything prepared (primitives made,
// weights packed, results allocated, the better of two layouts) and its own threads. Prints microseconds and ours /
// theirs: what allocation, packing, layout and the sharing out of work cost, or save.
//
//   ./dev bench matmul_conv [WORD]    only the rows whose name has WORD in it; KILN_THREADS chooses the threads
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/backend/cpu/conv/conv.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/matmul/matmul.hpp"
#include "kiln/backend/cpu/onednn/version.hpp"
#include "kiln/core/parallel.hpp"

extern "C" void omp_set_num_threads(int threads);

namespace {

using namespace kiln;
using cpu::onednn::describe, cpu::onednn::describe_gradient, cpu::onednn::engine;
using dnnl::memory;
using std::int64_t;
using Tag = memory::format_tag;
constexpr auto kDirect = dnnl::algorithm::convolution_direct;

/// The processor's time of one thread, which a busy machine leaves as it is.
double now_us() { return 1e6 * (num_threads() == 1 ? bench::process_seconds() : bench::wall_seconds()); }

/// Microseconds of one call: the best of several runs of some milliseconds.
double time_of(const std::function<void()>& call) {
  call();
  double best = 1e30;
  for (int repeat = 0; repeat < 15; ++repeat)
    for (int64_t calls = 1;; calls *= 2) {
      const double start = now_us();
      for (int64_t i = 0; i < calls; ++i) call();
      const double elapsed = now_us() - start;
      best = std::min(best, elapsed / static_cast<double>(calls));
      if (elapsed > 4000) break;
    }
  return best;
}

Value ones(const Shape& shape, bool channels_last = false) {
  Value value(make_ref<Node>(Desc{shape, DType::F32}, Device{}));
  Dims strides = contiguous_strides(shape);
  if (channels_last) strides = {shape[1] * shape[2] * shape[3], 1, shape[1] * shape[3], shape[1]};
  const cpu::Array array = cpu::allocate(value, strides);
  std::fill_n(array.as<float>(), array.numel(), 1.0f);
  return value;
}

template <class Op>
double time_ours(const Op& op, const std::vector<Value>& in) {
  const Desc desc = op.infer(in)[0];
  return time_of([&] {
    Value out(make_ref<Node>(desc, Device{}));
    if constexpr (std::is_same_v<Op, op::Matmul>) cpu::matmul::run(op, {in, {&out, 1}});
    else cpu::conv::run(op, {in, {&out, 1}});
  });
}

/// One primitive with memories of its own.
template <class Descriptor>
double time_theirs(const Descriptor& descriptor, std::initializer_list<int> roles) {
  static const dnnl::stream stream(engine());
  const dnnl::primitive primitive(descriptor.get());
  std::vector<memory> memories;
  std::vector<dnnl_exec_arg_t> arguments;
  for (const int role : roles) {
    memories.emplace_back(descriptor.query_md(dnnl::query::exec_arg_md, role), engine());
    auto* numbers = static_cast<float*>(memories.back().get_data_handle());
    std::fill_n(numbers, memories.back().get_desc().get_size() / sizeof(float), 1.0f);
    arguments.push_back({role, memories.back().get()});
  }
  return time_of([&] {
    dnnl_primitive_execute(primitive.get(), stream.get(), static_cast<int>(arguments.size()), arguments.data());
  });
}

struct Row {
  std::string name;
  std::function<double()> ours, theirs;
  double us = 0;
};

/// How an operand lies: by its rows, or by its columns.
enum class Lies { Plain, BTransposed, ATransposed };

/// `rows` x `columns` for each of a batch, by its columns if `turned`.
Value matrices(const Shape& shape, bool turned) {
  if (!turned) return ones(shape);
  Shape swapped = shape;
  std::swap(swapped[shape.size() - 2], swapped[shape.size() - 1]);
  const Value lying = ones(swapped);
  Value result(make_ref<Node>(Desc{shape, DType::F32}, Device{}));
  Dims strides = contiguous_strides(swapped);
  std::swap(strides[shape.size() - 2], strides[shape.size() - 1]);
  cpu::alias(result, lying, strides, 0);
  return result;
}

Row matmul(int64_t batch, int64_t m, int64_t n, int64_t k, Lies lies = Lies::Plain) {
  const bool a_turned = lies == Lies::ATransposed, b_turned = lies == Lies::BTransposed;
  const auto shape = [batch](int64_t rows, int64_t columns) {
    return batch > 1 ? Shape{batch, rows, columns} : Shape{rows, columns};
  };
  const std::string name = text("matmul ", batch > 1 ? text(batch, " x ") : "", m, " x ", n, " x ", k,
                                a_turned ? " A^T" : "", b_turned ? " B^T" : "");
  return {name,
          [=] { return time_ours(op::Matmul{}, {matrices(shape(m, k), a_turned), matrices(shape(k, n), b_turned)}); },
          [=] {
            const auto dims = [](const Shape& s) { return memory::dims(s.begin(), s.end()); };
            const auto type = memory::data_type::f32;
            const Tag rows = batch > 1 ? Tag::abc : Tag::ab, columns = batch > 1 ? Tag::acb : Tag::ba;
            const memory::desc a(dims(shape(m, k)), type, a_turned ? columns : rows),
                b(dims(shape(k, n)), type, b_turned ? columns : rows), c(dims(shape(m, n)), type, rows);
            return time_theirs(describe<dnnl::matmul>({}, a, b, c), {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
          }};
}

struct ConvCase {
  int64_t batch, in, size, out, kernel, stride = 1, padding = 0;
};

/// Forward, the gradient of the input and the gradient of the weight.
void add_conv(std::vector<Row>& rows, const ConvCase& c, bool input_gradient) {
  const int64_t result = (c.size + 2 * c.padding - c.kernel) / c.stride + 1;
  const Shape x{c.batch, c.in, c.size, c.size}, w{c.out, c.in, c.kernel, c.kernel}, y{c.batch, c.out, result, result};
  const op::Conv conv{{c.stride, c.stride}, {c.padding, c.padding}, {c.padding, c.padding}, {1, 1}, 1};
  const std::string name =
      text(c.in, "->", c.out, " ", c.kernel, "x", c.kernel, c.stride > 1 ? "/2" : "", " ", c.size, "^2 b", c.batch);

  // The better of channels-last and of the layout that oneDNN would choose.
  const auto best = [=](const auto& theirs) {
    const auto timed = [&](Tag tag) {
      const auto type = memory::data_type::f32;
      const auto dims = [](const Shape& s) { return memory::dims(s.begin(), s.end()); };
      const memory::desc dx(dims(x), type, tag), dw(dims(w), type, Tag::any), dy(dims(y), type, tag);
      const memory::dims stride{c.stride, c.stride}, padding{c.padding, c.padding};
      const auto forward = describe<dnnl::convolution_forward>({}, dnnl::prop_kind::forward_training, kDirect, dx, dw,
                                                               dy, stride, padding, padding);
      return theirs(dx, dw, dy, stride, padding, forward);
    };
    return std::min(timed(Tag::nhwc), timed(Tag::any));
  };
  rows.push_back({"conv " + name, [=] { return time_ours(conv, {ones(x, true), ones(w)}); },
                  [=] {
                    return best([](auto&, auto&, auto&, auto&, auto&, const auto& forward) {
                      return time_theirs(forward, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
                    });
                  }});
  rows.push_back(
      {"conv weight gradient " + name,
       [=] { return time_ours(op::ConvWeightGrad{conv, {c.kernel, c.kernel}}, {ones(x, true), ones(y, true)}); },
       [=] {
         return best([](auto& dx, auto& dw, auto& dy, auto& stride, auto& padding, const auto& forward) {
           using Backward = dnnl::convolution_backward_weights;
           return time_theirs(describe_gradient<Backward>(forward, {}, kDirect, dx, dw, dy, stride, padding, padding),
                              {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS});
         });
       }});
  if (!input_gradient) return;
  rows.push_back({"conv input gradient " + name,
                  [=] { return time_ours(op::ConvTranspose{conv, {c.size, c.size}}, {ones(y, true), ones(w)}); },
                  [=] {
                    return best([](auto& dx, auto& dw, auto& dy, auto& stride, auto& padding, const auto& forward) {
                      using Backward = dnnl::convolution_backward_data;
                      return time_theirs(
                          describe_gradient<Backward>(forward, {}, kDirect, dx, dw, dy, stride, padding, padding),
                          {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
                    });
                  }});
}

}  // namespace

int main(int count, char** words) {
  std::vector<Row> rows;
  for (const int64_t size : {4, 16, 64, 128, 256, 512, 1024}) rows.push_back(matmul(1, size, size, size));
  rows.push_back(matmul(1, 64, 512, 1024));
  rows.push_back(matmul(1, 64, 512, 1024, Lies::BTransposed));
  rows.push_back(matmul(1, 64, 1024, 512, Lies::BTransposed));
  rows.push_back(matmul(1, 1, 512, 1024));
  rows.push_back(matmul(1, 1, 512, 1024, Lies::BTransposed));
  for (const int64_t m : {4, 16}) rows.push_back(matmul(1, m, 512, 1024, Lies::BTransposed));
  rows.push_back(matmul(1, 4096, 768, 768, Lies::BTransposed));
  // Of an LSTM's training: its inputs' product, and the gradients of its weights.
  rows.push_back(matmul(1, 2048, 1024, 128, Lies::BTransposed));
  for (const int64_t n : {128, 256}) rows.push_back(matmul(1, 1024, n, 2048, Lies::ATransposed));
  rows.push_back(matmul(1, 768, 3072, 1024, Lies::ATransposed));
  rows.push_back(matmul(1, 2048, 2048, 2048));
  rows.push_back(matmul(1, 4096, 3072, 768));
  rows.push_back(matmul(1, 4096, 768, 3072, Lies::BTransposed));
  rows.push_back(matmul(64, 128, 128, 64));
  rows.push_back(matmul(96, 64, 128, 64));
  rows.push_back(matmul(96, 128, 128, 64, Lies::BTransposed));
  for (const int64_t batch : {1, 64}) {
    add_conv(rows, {batch, 1, 28, 8, 3}, false);
    add_conv(rows, {batch, 8, 26, 16, 3}, true);
  }
  add_conv(rows, {64, 16, 24, 24, 3}, true);
  add_conv(rows, {64, 1, 28, 32, 5}, false);
  add_conv(rows, {64, 32, 26, 64, 3}, true);
  // What most of a ResNet-50's time goes into: an image of 224 x 224 at a time, and eight of 64 x 64.
  for (const auto& [batch, size] : {std::pair<int64_t, int64_t>{1, 56}, {8, 16}}) {
    add_conv(rows, {batch, 3, 4 * size, 64, 7, 2, 3}, false);
    add_conv(rows, {batch, 64, size, 64, 3, 1, 1}, true);
    add_conv(rows, {batch, 64, size, 256, 1}, true);
    add_conv(rows, {batch, 256, size, 64, 1}, true);
    add_conv(rows, {batch, 256, size, 512, 1, 2}, true);
    add_conv(rows, {batch, 128, size / 2, 128, 3, 1, 1}, true);
    add_conv(rows, {batch, 128, size, 128, 3, 2, 1}, true);
    add_conv(rows, {batch, 128, size / 2, 512, 1}, true);
    add_conv(rows, {batch, 512, size / 2, 128, 1}, true);
    add_conv(rows, {batch, 256, size / 4, 256, 3, 1, 1}, true);
    add_conv(rows, {batch, 256, size / 4, 1024, 1}, true);
    add_conv(rows, {batch, 1024, size / 4, 256, 1}, true);
    add_conv(rows, {batch, 1024, size / 4, 2048, 1, 2}, true);
    add_conv(rows, {batch, 512, size / 4, 512, 3, 2, 1}, true);
    add_conv(rows, {batch, 512, size / 8, 512, 3, 1, 1}, true);
    add_conv(rows, {batch, 512, size / 8, 2048, 1}, true);
    add_conv(rows, {batch, 2048, size / 8, 512, 1}, true);
  }

  if (count > 1) std::erase_if(rows, [&](const Row& row) { return row.name.find(words[1]) == std::string::npos; });
  // All of ours before all of theirs: two sets of spinning threads would disturb each other.
  for (Row& row : rows) row.us = row.ours();
  omp_set_num_threads(num_threads());
  std::printf("%d threads, us per call\n%-46s %10s %10s %7s\n", num_threads(), "", "kiln", "oneDNN", "ratio");
  for (const Row& row : rows) {
    const double theirs = row.theirs();
    std::printf("%-46s %10.2f %10.2f %7.2f\n", row.name.c_str(), row.us, theirs, row.us / theirs);
  }
}
