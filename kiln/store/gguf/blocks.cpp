#include "kiln/store/gguf/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kiln::gguf {
namespace {

// The layouts are those of ggml-common.h: scales are float16, and quarter bytes and halves stand for small integers.
float half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return F16::from_bits(bits);
}
int byte_at(const std::byte* at) { return std::to_integer<int>(*at); }
int signed_at(const std::byte* at) { return static_cast<std::int8_t>(byte_at(at)); }

/// scale, 16 bytes: the low halves are the first 16 elements.
void decode_q4_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    const int both = byte_at(block + 2 + i);
    to[i] = scale * static_cast<float>((both & 15) - 8);
    to[i + 16] = scale * static_cast<float>((both >> 4) - 8);
  }
}

/// scale, 32 bytes with signs.
void decode_q8_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) to[i] = scale * static_cast<float>(signed_at(block + 2 + i));
}

void put_half(float number, std::byte* to) {
  const std::uint16_t bits = F16(number).bits;
  std::memcpy(to, &bits, sizeof bits);
}

float inverse_of(float scale) {
  const float inverse = 1 / scale;
  return std::isfinite(inverse) ? inverse : 0;
}

// As quantize_row_q8_0_ref and quantize_row_q4_0_ref of ggml-quants.c do it.
void encode_q8_0(const float* from, std::byte* block) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(from[i]));
  const float scale = most / 127, inverse = inverse_of(scale);
  put_half(scale, block);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(static_cast<int>(std::round(from[i] * inverse)));
}

/// The element furthest from zero is -8 times the scale, which therefore may be negative.
void encode_q4_0(const float* from, std::byte* block) {
  float furthest = 0;
  for (int i = 0; i < 32; ++i)
    if (std::abs(from[i]) > std::abs(furthest)) furthest = from[i];
  const float scale = furthest / -8, inverse = inverse_of(scale);
  put_half(scale, block);
  const auto quarter = [&](float number) { return std::min(15, static_cast<int>(number * inverse + 8.5f)); };
  for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<std::byte>(quarter(from[i]) | quarter(from[i + 16]) << 4);
}

/// scale and minimum of part `i` of 8, six bits each: the first four's in bytes of their own, whose upper two bits are the
/// upper bits of the last four's, whose lower four share bytes.
void scale_and_minimum(const std::byte* packed, int i, int& scale, int& minimum) {
  if (i < 4) {
    scale = byte_at(packed + i) & 63;
    minimum = byte_at(packed + i + 4) & 63;
  } else {
    const int low = byte_at(packed + i + 4);
    scale = (low & 15) | byte_at(packed + i - 4) >> 6 << 4;
    minimum = low >> 4 | byte_at(packed + i) >> 6 << 4;
  }
}

/// scale of scales, scale of minima, 12 bytes of both, 128 bytes: of each 32, the low halves are 32 elements, then the high.
void decode_q4_k(const std::byte* block, float* to) {
  const float scales = half_at(block), minima = half_at(block + 2);
  const std::byte* const packed = block + 4;
  const std::byte* const quarters = block + 16;
  for (int part = 0; part < 8; ++part) {
    int scale = 0, minimum = 0;
    scale_and_minimum(packed, part, scale, minimum);
    const float step = scales * static_cast<float>(scale), below = minima * static_cast<float>(minimum);
    for (int i = 0; i < 32; ++i) {
      const int both = byte_at(quarters + part / 2 * 32 + i);
      to[part * 32 + i] = step * static_cast<float>(part % 2 ? both >> 4 : both & 15) - below;
    }
  }
}

/// 128 bytes of low four bits, 64 of high two, 16 scales with signs, their scale: in each half of the block, 32 elements
/// follow each other at four places.
void decode_q6_k(const std::byte* block, float* to) {
  const float scales = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::byte *const low = block + half * 64, *const high = block + 128 + half * 32,
                           *const scale = block + 192 + half * 8;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int i = 0; i < 32; ++i) {
        const int both = byte_at(low + quarter % 2 * 32 + i);
        const int value = (quarter < 2 ? both & 15 : both >> 4) | (byte_at(high + i) >> 2 * quarter & 3) << 4;
        to[half * 128 + quarter * 32 + i] =
            scales * static_cast<float>(signed_at(scale + quarter * 2 + i / 16)) * static_cast<float>(value - 32);
      }
    }
  }
}

constexpr Encoding kEncodings[] = {
    {0, "f32", 1, 4, DType::F32},
    {1, "f16", 1, 2, DType::F16},
    {2, "q4_0", 32, 18, DType::F32, decode_q4_0, encode_q4_0},
    {8, "q8_0", 32, 34, DType::F32, decode_q8_0, encode_q8_0},
    {12, "q4_k", 256, 144, DType::F32, decode_q4_k},
    {14, "q6_k", 256, 210, DType::F32, decode_q6_k},
    {24, "i8", 1, 1, DType::I8},
    {25, "i16", 1, 2, DType::I16},
    {26, "i32", 1, 4, DType::I32},
    {27, "i64", 1, 8, DType::I64},
    {28, "f64", 1, 8, DType::F64},
    {30, "bf16", 1, 2, DType::BF16},
};

}  // namespace

const Encoding* find_encoding(std::uint32_t id) {
  for (const Encoding& encoding : kEncodings)
    if (encoding.id == id) return &encoding;
  return nullptr;
}

const Encoding* find_written(std::string_view name) {
  for (const Encoding& encoding : kEncodings)
    if (encoding.name == name && encoding.encode) return &encoding;
  return nullptr;
}

const Encoding* plain_encoding(DType dtype) {
  for (const Encoding& encoding : kEncodings)
    if (encoding.dtype == dtype && !encoding.decode) return &encoding;
  return nullptr;
}

}  // namespace kiln::gguf
