#include "kiln/store/gguf/blocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace kiln::gguf {
namespace {

// The layouts are those of ggml-common.h. Scales are float16; small integers take 4 to 8 bits.
float half_at(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return F16::from_bits(bits);
}
int byte_at(const std::byte* at) { return std::to_integer<int>(*at); }
int signed_at(const std::byte* at) { return static_cast<std::int8_t>(byte_at(at)); }

/// A block is a scale and 16 bytes, whose low four bits are the first 16 elements.
void decode_q4_0(const std::byte* block, float* to) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    const int both = byte_at(block + 2 + i);
    to[i] = scale * static_cast<float>((both & 15) - 8);
    to[i + 16] = scale * static_cast<float>((both >> 4) - 8);
  }
}

/// A block is a scale and 32 signed bytes.
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

// These encode as quantize_row_q8_0_ref and quantize_row_q4_0_ref of ggml-quants.c do.
void encode_q8_0(const float* from, std::byte* block) {
  float most = 0;
  for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(from[i]));
  const float scale = most / 127, inverse = inverse_of(scale);
  put_half(scale, block);
  for (int i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(static_cast<int>(std::round(from[i] * inverse)));
}

/// The element furthest from zero is encoded as -8 times the scale, which may therefore be negative.
void encode_q4_0(const float* from, std::byte* block) {
  float furthest = 0;
  for (int i = 0; i < 32; ++i)
    if (std::abs(from[i]) > std::abs(furthest)) furthest = from[i];
  const float scale = furthest / -8, inverse = inverse_of(scale);
  put_half(scale, block);
  const auto quarter = [&](float number) { return std::min(15, static_cast<int>(number * inverse + 8.5f)); };
  for (int i = 0; i < 16; ++i) block[2 + i] = static_cast<std::byte>(quarter(from[i]) | quarter(from[i + 16]) << 4);
}

/// Unpacks the scale and minimum of part `i` of 8, which have six bits each. Those of the first four parts are in bytes
/// of their own, whose upper two bits are the upper bits of the last four parts. The lower four bits of the last four
/// parts' scale and minimum share a byte.
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

/// A block is a scale of the scales, a scale of the minima, 12 bytes of both and 128 bytes. Of each 32 of these bytes
/// the low four bits are 32 elements, and the high four bits are the next 32.
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

/// A block is 128 bytes of low four bits, 64 bytes of high two bits, 16 signed scales and their scale. Each half of the
/// block stores four runs of 32 elements.
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
