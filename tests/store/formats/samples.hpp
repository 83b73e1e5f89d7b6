// One small set of tensors for all formats, and files of it in memory.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/trace.hpp"
#include "kiln/store/format/source.hpp"

namespace kiln {

inline FileBytes in_memory(std::vector<std::byte> bytes, std::string name = "damaged") {
  bytes.shrink_to_fit();  // so that a sanitizer sees the end where it is
  const auto held = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return {*held, std::move(name), held};
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// As `write` writes it.
template <class Write>
std::vector<std::byte> written(const TensorSource& source, Write write) {
  std::vector<std::byte> bytes;
  write(source, [&](std::span<const std::byte> piece) { bytes.insert(bytes.end(), piece.begin(), piece.end()); });
  return bytes;
}

/// Tensors that every format can hold.
inline TensorSource sample() {
  TensorSource source;
  source.tensors.emplace("conv1.weight", stored(TensorData::of<float>({2, 1, 3}, {1, -2, 3.5, 1e-30f, 5, 6})));
  source.tensors.emplace("conv1.bias", stored(TensorData::of<F16>({2}, {F16(0.5f), F16(-7.f)})));
  source.tensors.emplace("steps", stored(TensorData::of<std::int64_t>({1}, {1'000'000'000'007})));
  source.tensors.emplace("small", stored(TensorData::of<std::int8_t>({3}, {-128, 0, 127})));
  source.tensors.emplace("wide", stored(TensorData::of<double>({1, 2}, {0.1, -1e300})));
  return source;
}

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "no error";
}

}  // namespace kiln
