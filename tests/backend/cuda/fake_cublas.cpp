// libcublasLt.so.13 as loops over the fake driver's memory, by what its reference says: matrices whose columns lie in line,
// and algorithms that take no address which is less aligned than was said when they were asked for.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "kiln/core/half.hpp"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 7, kNotSupported = 15;
enum Type { kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBfloat16 = 14 };

struct Layout {
  int type;
  std::uint64_t rows, columns;
  std::int64_t stride;
  std::int32_t batch = 1;
  std::int64_t batch_stride = 0;
};
struct Description {
  int compute, scale;
  std::int32_t transposed[2] = {0, 0};
  std::uint32_t epilogue = 1;
  const void* bias = nullptr;
};
struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};
struct Heuristic {
  std::uint64_t algorithm[8];  // here: the alignments, and which of those that were found
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

// Of those that are found the second is refused, and the third takes a third of the others' time.
constexpr int kAlgorithms = 4, kRefused = 1, kQuickest = 2;
// Calls by several threads count together.
std::atomic<int> last_algorithm = -1, products = 0, rounded_products = 0;
constexpr int kSingle = 68, kDouble = 70, kTf32 = 77;  // how it computes

/// What is left of a number where tensor cores read it: 11 bits.
double rounded_to_tf32(double x) {
  const double coarse = x * 4398046511105.0;  // 2^42 + 1 (Dekker)
  return coarse - (coarse - x);
}

double load(int type, const void* memory, std::int64_t i) {
  if (type == kFloat64) return static_cast<const double*>(memory)[i];
  if (type == kFloat32) return static_cast<double>(static_cast<const float*>(memory)[i]);
  if (type == kFloat16) return static_cast<double>(static_cast<float>(static_cast<const kiln::F16*>(memory)[i]));
  return static_cast<double>(static_cast<float>(static_cast<const kiln::BF16*>(memory)[i]));
}
void store(int type, void* memory, std::int64_t i, double x) {
  if (type == kFloat64) static_cast<double*>(memory)[i] = x;
  if (type == kFloat32) static_cast<float*>(memory)[i] = static_cast<float>(x);
  if (type == kFloat16) static_cast<kiln::F16*>(memory)[i] = kiln::F16(static_cast<float>(x));
  if (type == kBfloat16) static_cast<kiln::BF16*>(memory)[i] = kiln::BF16(static_cast<float>(x));
}

bool is_sound(const Layout& x) { return x.stride >= static_cast<std::int64_t>(x.rows) && x.rows && x.columns; }

double finished(const Description& how, double x, int type, std::int64_t row) {
  if (how.epilogue & 4) x += load(type, how.bias, row);
  if (how.epilogue & 2) x = std::max(x, 0.0);
  if (how.epilogue & 32) x = 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  return x;
}

template <class T>
int set(T& field, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return kInvalidValue;
  std::memcpy(&field, value, bytes);
  return kSuccess;
}

}  // namespace

extern "C" {

int cuStreamSynchronize(void* stream);  // the fake driver's
void kiln_fake_spend(double milliseconds);

int cublasLtCreate(void** handle) {
  static int only = 0;
  *handle = &only;
  return kSuccess;
}
int cublasLtDestroy(void*) { return kSuccess; }
const char* cublasLtGetStatusString(int) { return "a status"; }

int cublasLtMatrixLayoutCreate(void** made, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride) {
  *made = new Layout{type, rows, columns, stride};
  return kSuccess;
}
int cublasLtMatrixLayoutDestroy(void* layout) {
  delete static_cast<Layout*>(layout);
  return kSuccess;
}
int cublasLtMatrixLayoutSetAttribute(void* layout, int attribute, const void* value, std::size_t bytes) {
  auto& x = *static_cast<Layout*>(layout);
  return attribute == 5   ? set(x.batch, value, bytes)
         : attribute == 6 ? set(x.batch_stride, value, bytes)
                          : kInvalidValue;
}
int cublasLtMatmulDescCreate(void** made, int compute, int scale) {
  *made = new Description{compute, scale};
  return kSuccess;
}
int cublasLtMatmulDescDestroy(void* description) {
  delete static_cast<Description*>(description);
  return kSuccess;
}
int cublasLtMatmulDescSetAttribute(void* description, int attribute, const void* value, std::size_t bytes) {
  auto& how = *static_cast<Description*>(description);
  return attribute == 3 || attribute == 4 ? set(how.transposed[attribute - 3], value, bytes)
         : attribute == 7                 ? set(how.epilogue, value, bytes)
         : attribute == 8                 ? set(how.bias, value, bytes)
                                          : kInvalidValue;
}
int cublasLtMatmulPreferenceCreate(void** made) {
  *made = new Preference;
  return kSuccess;
}
int cublasLtMatmulPreferenceDestroy(void* preference) {
  delete static_cast<Preference*>(preference);
  return kSuccess;
}
int cublasLtMatmulPreferenceSetAttribute(void* preference, int attribute, const void* value, std::size_t bytes) {
  auto& wish = *static_cast<Preference*>(preference);
  return attribute == 1                     ? set(wish.workspace, value, bytes)
         : 5 <= attribute && attribute <= 8 ? set(wish.alignments[attribute - 5], value, bytes)
                                            : kInvalidValue;
}

int cublasLtMatmulAlgoGetHeuristic(void*, void* description, void* a, void* b, void* c, void* d, void* preference,
                                   int wanted, Heuristic* results, int* found) {
  const auto& how = *static_cast<Description*>(description);
  const auto &x = *static_cast<Layout*>(a), &y = *static_cast<Layout*>(b), &z = *static_cast<Layout*>(c);
  const bool inner = (how.transposed[0] ? x.rows : x.columns) == (how.transposed[1] ? y.columns : y.rows);
  const bool outer =
      (how.transposed[0] ? x.columns : x.rows) == z.rows && (how.transposed[1] ? y.rows : y.columns) == z.columns;
  const bool f64 = x.type == kFloat64;
  *found = 0;
  if (!inner || !outer || c != d || !is_sound(x) || !is_sound(y) || !is_sound(z)) return kInvalidValue;
  if (x.type != y.type || how.scale != (f64 ? kFloat64 : kFloat32)) return kNotSupported;
  if (how.compute != (f64 ? kDouble : kSingle) && !(how.compute == kTf32 && x.type == kFloat32)) return kNotSupported;
  const auto& wish = *static_cast<Preference*>(preference);
  for (*found = 0; *found < std::min(wanted, kAlgorithms); ++*found) {
    Heuristic& each = results[*found];
    each = {};
    for (int i = 0; i < 4; ++i) each.algorithm[i] = wish.alignments[i];
    each.algorithm[4] = static_cast<std::uint64_t>(*found);
    each.workspace = wish.workspace;
  }
  return kSuccess;
}
int cublasLtMatmulAlgoCheck(void*, void*, void*, void*, void*, void*, const std::uint64_t* algorithm,
                            Heuristic* result) {
  *result = {};
  return algorithm[0] && algorithm[4] < kAlgorithms && !std::getenv("KILN_FAKE_CHECK") ? kSuccess : kInvalidValue;
}
std::size_t cublasLtGetVersion() { return 130100; }
/// For tests: which algorithm ran last, and how often any has.
void kiln_fake_cublas_state(int* which, int* times) {
  *which = last_algorithm;
  *times = products;
}
/// And how many were in TF32.
int kiln_fake_cublas_rounded() { return rounded_products; }

int cublasLtMatmul(void*, void* description, const void* alpha, const void* a, void* a_layout, const void* b,
                   void* b_layout, const void* beta, const void* c, void* c_layout, void* d, void*,
                   const std::uint64_t* algorithm, void* workspace, std::size_t workspace_bytes, void* stream) {
  const void* const addresses[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i)
    if (reinterpret_cast<std::uintptr_t>(addresses[i]) % algorithm[i]) return kInvalidValue;
  if (workspace_bytes && !workspace) return kInvalidValue;
  if (algorithm[4] == kRefused) return kNotSupported;
  if (const int problem = cuStreamSynchronize(stream)) return problem;
  kiln_fake_spend(algorithm[4] == kQuickest ? 1 : 3);
  last_algorithm = static_cast<int>(algorithm[4]);
  ++products;
  const auto& how = *static_cast<Description*>(description);
  const auto factor = [&](double of) { return how.compute == kTf32 ? rounded_to_tf32(of) : of; };
  rounded_products += how.compute == kTf32;
  const auto &x = *static_cast<Layout*>(a_layout), &y = *static_cast<Layout*>(b_layout),
             &z = *static_cast<Layout*>(c_layout);
  const auto depth = static_cast<std::int64_t>(how.transposed[0] ? x.rows : x.columns);
  const auto place = [](const Layout& of, std::int32_t transposed, std::int64_t batch, std::int64_t i, std::int64_t j) {
    return batch * of.batch_stride + (transposed ? j + i * of.stride : i + j * of.stride);
  };
  for (std::int64_t batch = 0; batch < z.batch; ++batch)
    for (std::int64_t j = 0; j < static_cast<std::int64_t>(z.columns); ++j)
      for (std::int64_t i = 0; i < static_cast<std::int64_t>(z.rows); ++i) {
        double sum = 0;
        for (std::int64_t l = 0; l < depth; ++l)
          sum += factor(load(x.type, a, place(x, how.transposed[0], batch, i, l))) *
                 factor(load(y.type, b, place(y, how.transposed[1], batch, l, j)));
        const std::int64_t at = place(z, 0, batch, i, j);
        const double before = load(how.scale, beta, 0);
        double total = load(how.scale, alpha, 0) * sum;
        if (before != 0) total += before * load(z.type, c, at);
        store(z.type, d, at, finished(how, total, z.type, i));
      }
  return kSuccess;
}

}  // extern "C"
