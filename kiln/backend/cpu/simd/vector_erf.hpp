// erf in single precision. Included once per target.
#if defined(KILN_SIMD_VECTOR_ERF_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef KILN_SIMD_VECTOR_ERF_HPP
#undef KILN_SIMD_VECTOR_ERF_HPP
#else
#define KILN_SIMD_VECTOR_ERF_HPP
#endif

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {

#if HWY_TARGET == HWY_AVX3

/// kErf[k][i] is the coefficient of d^k in erf(i / 8 + d), for |d| <= 1 / 16: minimax polynomials for the relative
/// error. Each coefficient is fitted to what the rounding of the ones before it left.
alignas(64) inline constexpr float kErf[5][32] = {
    {0,          0.1403162f, 0.2763264f,  0.4041169f,  0.5204999f,  0.6232409f,  0.71115565f, 0.7840751f,
     0.8427008f, 0.8883882f, 0.92290014f, 0.94817007f, 0.96610516f, 0.97844374f, 0.9866717f,  0.99199003f,
     0.9953223f, 0.997346f,  0.9985373f,  0.99921703f, 0.999593f,   0.9997946f,  0.9998994f,  0.99995214f,
     0.9999779f, 0.9999901f, 0.9999957f,  0.9999982f,  0.9999993f,  0.9999997f,  0.9999999f,  0.99999994f},
    {1.1283791f,    1.1108848f,    1.0600138f,     0.98035276f,    0.8787826f,     0.76349956f,    0.6429311f,
     0.52474505f,   0.4151075f,    0.31827396f,    0.23652112f,    0.17035978f,    0.11893029f,    0.08047226f,
     0.052774996f,  0.033545826f,  0.020666987f,   0.01234082f,    0.007142319f,   0.0040064775f,  0.002178284f,
     0.001147875f,  0.0005862773f, 0.00029022826f, 0.00013925304f, 6.4758395e-05f, 2.9189036e-05f, 1.2751704e-05f,
     5.399408e-06f, 2.21592e-06f,  8.814e-07f,     3.398114e-07f},
    {2.152726e-05f,   -0.13885604f,    -0.265f,         -0.36761415f,   -0.43940187f,   -0.47719464f,  -0.48220655f,
     -0.45915833f,    -0.41509277f,    -0.35803834f,    -0.2956574f,    -0.2342362f,    -0.17839745f,  -0.1307684f,
     -0.092356816f,   -0.06284274f,    -0.0413345f,     -0.026224405f,  -0.016070327f,  -0.009458232f, -0.005388081f,
     -0.0029688855f,  -0.0016122819f,  -0.00081886054f, -0.0003711313f, -0.0002025143f, -9.48693e-05f, -4.3054988e-05f,
     -1.8907243e-05f, -4.3787936e-06f, 2.3135412e-06f,  1.6185577e-05f},
    {-0.37733737f,   -0.358224f,    -0.30878764f,   -0.23472938f,   -0.14641933f,   -0.05576015f,  0.026510755f,
     0.092641614f,   0.13810113f,   0.16221073f,    0.16733076f,    0.15781738f,    0.13864899f,   0.114799336f,
     0.090121925f,   0.06746589f,   0.048183326f,   0.033031594f,   0.021704625f,   0.0137473345f, 0.00836232f,
     0.004898882f,   0.0027509984f, 0.0015059507f,  0.00079112675f, 0.00039273725f, 0.0001888525f, 9.145193e-05f,
     4.1714997e-05f, 8.367652e-06f, 3.0171153e-05f, 3.3234871e-06f},
    {0.02139758f,    0.06729159f,    0.125968f,      0.16233294f,    0.18542439f,    0.17784102f,    0.15110256f,
     0.11161473f,    0.065455794f,   0.022949798f,   -0.0056376862f, -0.03258801f,   -0.04547026f,   -0.05001677f,
     -0.048903875f,  -0.056173198f,  -0.03575603f,   -0.027201891f,  -0.020520682f,  -0.02752215f,   -0.023199398f,
     -0.016631488f,  -0.004153832f,  -0.005813271f,  -0.012952768f,  -0.0006786434f, -0.0016294913f, -0.00016639552f,
     -8.016538e-05f, -0.0007993402f, -0.0010984074f, -0.002246743f}};

/// Returns row[index] in each lane. Only the five lowest bits of an index are used.
HWY_INLINE Vector<float> look_up(const float (&row)[32], __m512i index) {
  return hn::Vec512<float>{_mm512_permutex2var_ps(_mm512_load_ps(row), index, _mm512_load_ps(row + 16))};
}

/// The result is 1 in magnitude from |x| = 3.92 on. The table saves half the arithmetic of one polynomial for all x.
HWY_INLINE Vector<float> erf(Vector<float> x) {
  const Vector<float> size = hn::Abs(x.lanes), t = at_most(size, 3.92f);
  // The low bits of `index` are the number of eighths nearest to t, and d is the distance to these.
  const __m512i index = _mm512_castps_si512((t + 0x1.8p20f).lanes.raw);
  const Vector<float> d = hn::Vec512<float>{_mm512_reduce_ps(t.lanes.raw, 3 << 4)};
  Vector<float> p = fma(look_up(kErf[4], index), d, look_up(kErf[3], index));
  p = fma(p, d, look_up(kErf[2], index));
  p = fma(p, d, look_up(kErf[1], index));
  p = fma(p, d, look_up(kErf[0], index));
  return hn::Xor3(p.lanes, x.lanes, size.lanes);  // the sign of x
}

#else

/// Computes x / 4 + x p(x^2 / 7.4 - 1), which has little cancellation anywhere, and 1 in magnitude from |x| = 3.86 on.
/// p is the minimax polynomial for the relative error of erf; a search chose its last bits.
HWY_INLINE Vector<float> erf(Vector<float> x) {
  const Vector<float> t = clamp(x, -3.86f, 3.86f), u = fma(t * t, 0.135135129f, -1);
  Vector<float> p = fma(u, -0.000570382457f, 0.00152170181f);
  p = fma(p, u, -0.00125893927f);
  p = fma(p, u, 0.00181147386f);
  p = fma(p, u, -0.00625318429f);
  p = fma(p, u, 0.0120458836f);
  p = fma(p, u, -0.0180448666f);
  p = fma(p, u, 0.0275852922f);
  p = fma(p, u, -0.0410998464f);
  p = fma(p, u, 0.0565364286f);
  p = fma(p, u, -0.0731205493f);
  p = fma(p, u, 0.0907918364f);
  p = fma(p, u, -0.110436134f);
  p = fma(p, u, 0.136302397f);
  p = fma(p, u, -0.183436871f);
  p = fma(p, u, 0.117563374f);
  return fma(p, t, 0.25f * t);
}

#endif

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
