// A module computes what a host does, its errors are exceptions after which it goes on, its memory is given back, and its
// threads, or the lack of them, change no bit.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/portable/expect.hpp"

namespace kiln::test {
namespace {

// lld 19 places these wrongly in a module without threads (cmake/toolchains/emscripten/wasm_ld.py).
thread_local int counted = 5;
thread_local std::vector<int> listed = {1, 2, 3};

void variables_of_threads_have_their_values() {
  expect(counted == 5 && ++counted == 6, "a variable of a thread begins with its value");
  expect(listed.size() == 3 && listed[2] == 3, "an object of a thread is constructed");
}

Value waves(const Shape& shape, double step) {
  std::vector<float> elements(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = static_cast<float>(std::sin(step * static_cast<double>(i)));
  return from_data(TensorData::of<float>(shape, elements), Device::cpu());
}

/// The largest difference of a product of kernels from a sum of doubles.
double error_of_product(std::int64_t m, std::int64_t k, std::int64_t n) {
  const std::vector<float> a = waves({m, k}, 0.7).data().to_vector<float>(),
                           b = waves({k, n}, 1.3).data().to_vector<float>(),
                           c = matmul(waves({m, k}, 0.7), waves({k, n}, 1.3)).data().to_vector<float>();
  double most = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += double{a[static_cast<std::size_t>(i * k + p)]} * b[static_cast<std::size_t>(p * n + j)];
      most = std::max(most, std::abs(sum - c[static_cast<std::size_t>(i * n + j)]));
    }
  return most;
}

void products_are_those_of_doubles() {
  for (const std::int64_t size : {1, 3, 8, 37, 64, 129})
    expect(error_of_product(size, 2 * size + 1, size + 5) < 1e-4, "a product is that of doubles");
}

template <class E, class F>
std::string sentence_of(F&& function) {
  try {
    function();
  } catch (const E& error) { return error.what(); }
  return {};
}

void errors_are_exceptions() {
  const std::string sentence = sentence_of<ShapeError>([] { matmul(waves({2, 3}, 1), waves({4, 5}, 1)); });
  expect(sentence.find("inner dimensions 3 and 4 differ") != std::string::npos, "an error has Kiln's sentence");
  expect(error_of_product(5, 5, 5) < 1e-5, "after an error the module goes on");
}

void memory_ends_in_an_error_and_comes_back() {
  const auto make = [](std::int64_t bytes) { return full({bytes / 4}, 1., Device::cpu(), DType::F32); };
  constexpr std::int64_t kMiB = std::int64_t{1} << 20, kGiB = kMiB << 10;
  for (const std::int64_t bytes : {3 * kGiB, 4 * kGiB, 5 * kGiB + 16, 4096 * kGiB})
    expect(!sentence_of<MemoryError>([&] { make(bytes).data(); }).empty(), "a tensor of gigabytes is refused");
  for (int i = 0; i < 8; ++i) {
    const Value large = make(512 * kMiB);
    expect(large.data().numel() == 512 * kMiB / 4, "memory is used again");
    if (i % 2) Device::cpu().release_memory();
  }
  expect(error_of_product(16, 16, 16) < 1e-4, "without memory the module goes on");
}

void threads_change_no_bit() {
  const Value a = waves({200, 300}, 0.3), b = waves({300, 250}, 0.9);
  const auto bits = [&] { return softmax(matmul(a, b), -1).data().to_vector<float>(); };
  const int before = num_threads();
  set_num_threads(1);
  const auto one = bits();
  set_num_threads(4);
  expect(bits() == one, "four threads give the bits of one");
  set_num_threads(before);
}

}  // namespace
}  // namespace kiln::test

int main() {
  kiln::test::variables_of_threads_have_their_values();
  kiln::test::products_are_those_of_doubles();
  kiln::test::errors_are_exceptions();
  kiln::test::threads_change_no_bit();
  kiln::test::memory_ends_in_an_error_and_comes_back();
  return kiln::test::wrong ? 1 : 0;
}
