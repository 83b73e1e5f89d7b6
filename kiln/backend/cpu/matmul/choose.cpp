#include "kiln/backend/cpu/matmul/choose.hpp"

#include <algorithm>

#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/simd/product/few_rows.hpp"
#include "kiln/backend/cpu/simd/product/parts.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"

namespace kiln::cpu::matmul {
namespace {

using std::int64_t;

bool is_half(DType dtype) { return dtype == DType::BF16 || dtype == DType::F16; }

bool has_few_vectors(const MatmulCase& c) {
  return is_half(c.dtype) && !c.in_batch && std::min(c.m, c.n) <= simd::kMostFewHalves &&
         simd::multiply_converts(c.dtype);
}

bool onednn_multiplies(const MatmulCase& c) {
  return is_half(c.dtype) && linked_onednn() && linked_onednn()->has_matmul(c.dtype, c.k);
}

/// Packing both operands for vectors of pairs takes longer than oneDNN takes in all.
bool is_packed_in_vain(const MatmulCase& c) {
  // bench: suite matmul_*_bf16, sweep matmul bf16
  constexpr int64_t kBlock = 32, kLong = 256, kSmall = 4096;
  if (c.n <= kBlock && c.m >= kLong) return true;
  return c.many_b && (std::min(c.m, c.n) == 1 || c.m * c.n * c.k <= kSmall);
}
bool multiplies_pairs(const MatmulCase& c) {
  if (c.dtype != DType::BF16 || !linked_amx()) return false;
  const bool has_other = linked_onednn() && !is_disabled(Algorithm::OnednnMatmul);
  return linked_amx()->has_tiles() || !has_other || !is_packed_in_vain(c);
}

/// The first matching rule wins.
struct Rule {
  Algorithm algorithm;
  bool (*fits)(const MatmulCase&);
  std::string_view reason;
};
constexpr Rule kRules[] = {
    {Algorithm::FewHalves, has_few_vectors, "the matrix is read once, from memory, which takes longer than the sums"},
    {Algorithm::AmxMatmul, multiplies_pairs, "the processor multiplies pairs of bfloat16"},
    {Algorithm::OnednnMatmul, onednn_multiplies, "oneDNN multiplies bfloat16 on this processor"},
    {Algorithm::Float32, [](const MatmulCase& c) { return is_half(c.dtype); },
     "nothing multiplies this half type: copies in float32 do"},
    {Algorithm::Int16, [](const MatmulCase& c) { return is_integer(c.dtype) && size_of(c.dtype) == 1; },
     "sums of bytes wrap around like the low halves of sums of 16 bits"},
    {Algorithm::ProductTiles, [](const MatmulCase& c) { return c.dtype != DType::Bool; }, "vectors multiply the type"},
    {Algorithm::Reference, [](const MatmulCase&) { return true; }, "nothing else knows the type"}};

/// Whether computing the transposed product is faster.
bool is_transposed(const Product& p) {
  using simd::is_thin, simd::kThin;
  if (p.m <= p.n ? is_thin(p.m, p.k) : is_thin(p.n, p.k)) return p.n < p.m;
  if (p.b.by_rows()) return !p.a.by_rows() && p.n <= kThin && p.n < p.m;
  // Each piece transposes its part of the right operand. For the transposed product it transposes the left one and the
  // result.
  return p.a.by_rows() ? 4 * p.m * (p.n + p.k) < p.n * p.k : p.m * p.n < (p.m + p.n) * p.k;
}

bool has_long_sums(const Product& p) { return simd::is_thin(p.m, p.k) && !p.b.by_rows(); }

template <class T>
bool is_read_in_order(const Product& p) {
  return p.m <= simd::kMostFewRows<T> && p.b.by_rows() && p.n >= 2 * simd::product_tiles<T>().panel;
}
bool is_read_in_order(const Product& p) {
  return p.dtype == DType::F32 ? is_read_in_order<float>(p) : p.dtype == DType::F64 && is_read_in_order<double>(p);
}

struct WayRule {
  Algorithm algorithm;
  bool (*fits)(const Product&);
  std::string_view reason;
};
constexpr WayRule kWays[] = {
    {Algorithm::Dots, has_long_sums, "few lines of the left operand meet lines of the right one along memory"},
    {Algorithm::FewRows, is_read_in_order, "few rows wait for the right operand, which is read once, as it lies"},
    {Algorithm::ProductTiles, [](const Product&) { return true; }, "tiles of sums read each number many times"}};

}  // namespace

Choice choose(const MatmulCase& c) {
  const Rule* const rule =
      std::ranges::find_if(kRules, [&](const Rule& each) { return !is_disabled(each.algorithm) && each.fits(c); });
  return {rule->algorithm, rule->reason};
}

simd::ProductWay choose_way(const Product& p) {
  const bool transposed = is_transposed(p);
  const Product q = transposed ? simd::transposed(p) : p;
  const WayRule* const rule =
      std::ranges::find_if(kWays, [&](const WayRule& each) { return !is_disabled(each.algorithm) && each.fits(q); });
  return {transposed, rule->algorithm};
}

}  // namespace kiln::cpu::matmul
