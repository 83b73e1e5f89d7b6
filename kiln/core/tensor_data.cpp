#include "kiln/core/tensor_data.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "kiln/core/convert.hpp"

namespace kiln {
namespace {

// Zeroed bytes for a tensor. Large sizes are probed first, so that a build without exceptions can report the failure
// instead of ending in the allocator.
std::vector<std::byte> allocate(const Shape& shape, DType dtype) {
  constexpr std::int64_t kMost = std::numeric_limits<std::ptrdiff_t>::max(), kLarge = std::int64_t{1} << 26;
  std::int64_t bytes = 0;
  const bool overflow = __builtin_mul_overflow(numel(shape), static_cast<std::int64_t>(size_of(dtype)), &bytes);
  bool fits = !overflow && bytes <= kMost;
  if (fits && bytes >= kLarge) {
    void* const probe = ::operator new(static_cast<std::size_t>(bytes), std::nothrow);
    fits = probe != nullptr;
    ::operator delete(probe);
  }
  require<MemoryError>(fits, "no memory for a tensor of shape ", shape, " and type ", dtype);
  return std::vector<std::byte>(static_cast<std::size_t>(bytes));
}

// Files and devices may hold other bytes than 0 and 1 for a bool; reading such a byte as a C++ bool is undefined.
template <class T> using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
std::span<const Stored<T>> stored(const TensorData& data) {
  const auto bytes = data.bytes();
  return {reinterpret_cast<const Stored<T>*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class To, class From>
To converted(Stored<From> value) {
  if constexpr (std::is_same_v<From, bool>) return convert<To>(value != 0);
  else return convert<To>(value);
}

void check_size(const Shape& shape, DType dtype, std::size_t bytes) {
  std::int64_t expected = 0;
  const bool overflow = __builtin_mul_overflow(numel(shape), static_cast<std::int64_t>(size_of(dtype)), &expected);
  if (overflow || static_cast<std::uint64_t>(expected) != bytes)
    fail<ShapeError>("a tensor of shape ", shape, " and type ", dtype, " does not have ", bytes, " bytes");
}

}  // namespace

TensorData::TensorData(const Shape& shape, DType dtype)
    : shape_(shape), dtype_(dtype), bytes_(allocate(shape, dtype)) {}

TensorData::TensorData(const Shape& shape, DType dtype, std::vector<std::byte> bytes)
    : shape_(shape), dtype_(dtype), bytes_(std::move(bytes)) {
  check_size(shape, dtype, bytes_.size());
  if (dtype == DType::Bool)
    for (auto& byte : bytes_) byte = std::byte{byte != std::byte{0}};
}

TensorData TensorData::lent(const Shape& shape, DType dtype, std::span<const std::byte> bytes,
                            std::shared_ptr<const void> owner) {
  check_size(shape, dtype, bytes.size());
  const bool aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % size_of(dtype) == 0;
  TensorData data;
  if (bytes.empty() || !aligned || dtype == DType::Bool || !owner) {
    data = TensorData(shape, dtype);
    if (!bytes.empty()) std::memcpy(data.bytes_.data(), bytes.data(), bytes.size());
    if (dtype == DType::Bool)
      for (auto& byte : data.bytes_) byte = std::byte{byte != std::byte{0}};
    return data;
  }
  data.shape_ = shape;
  data.dtype_ = dtype;
  data.lent_ = bytes;
  data.owner_ = std::move(owner);
  return data;
}

std::span<std::byte> TensorData::bytes() & {
  if (owner_) {
    TensorData own(shape_, dtype_);
    std::memcpy(own.bytes_.data(), lent_.data(), lent_.size());
    *this = std::move(own);
  }
  return bytes_;
}

template <class T>
TensorData TensorData::of(const Shape& shape, std::span<const T> values) {
  const auto count = static_cast<std::int64_t>(values.size());
  if (kiln::numel(shape) != count) fail<ShapeError>("a tensor of shape ", shape, " does not have ", count, " elements");
  TensorData data(shape, dtype_of<T>);
  if (count) std::memcpy(data.bytes_.data(), values.data(), data.bytes_.size());
  return data;
}

template <class T>
std::span<const T> TensorData::as() const& {
  require<DTypeError>(dtype_ == dtype_of<T>, "elements of type ", dtype_, " are not ", dtype_of<T>);
  const auto bytes = this->bytes();
  return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

template <class T>
std::span<T> TensorData::as() & {
  static_cast<void>(bytes());  // copies borrowed bytes
  const auto elements = std::as_const(*this).template as<T>();
  return {const_cast<T*>(elements.data()), elements.size()};
}

template <class T>
std::vector<T> TensorData::to_vector() const {
  return visit_dtype(dtype_, [&](auto tag) {
    using From = typename decltype(tag)::type;
    const auto elements = stored<From>(*this);
    std::vector<T> values;
    values.reserve(elements.size());
    for (const auto element : elements) values.push_back(converted<T, From>(element));
    return values;
  });
}

TensorData TensorData::to(DType dtype) const {
  TensorData result(shape_, dtype);
  visit_dtype(dtype_, [&](auto from) {
    visit_dtype(dtype, [&](auto to) {
      using From = typename decltype(from)::type;
      using To = typename decltype(to)::type;
      const auto elements = stored<From>(*this);
      auto* const out = reinterpret_cast<To*>(result.bytes_.data());
      for (std::size_t i = 0; i < elements.size(); ++i) out[i] = converted<To, From>(elements[i]);
    });
  });
  return result;
}

TensorData TensorData::reshaped(const Shape& shape) const {
  if (kiln::numel(shape) != numel())
    fail<ShapeError>("reshape: ", shape_, " to ", shape, ": the numbers of elements differ");
  TensorData result = *this;
  result.shape_ = shape;
  return result;
}

double TensorData::at(std::int64_t index) const {
  require<IndexError>(index >= 0 && index < numel(), "element ", index, " of a tensor with ", numel(), " elements");
  return visit_dtype(dtype_, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return converted<double, T>(stored<T>(*this)[static_cast<std::size_t>(index)]);
  });
}

#define KILN_INSTANTIATE(T)                                                \
  template TensorData TensorData::of<T>(const Shape&, std::span<const T>); \
  template std::span<const T> TensorData::as<T>() const&;                  \
  template std::span<T> TensorData::as<T>()&;                              \
  template std::vector<T> TensorData::to_vector<T>() const;
KILN_INSTANTIATE(double)
KILN_INSTANTIATE(float)
KILN_INSTANTIATE(F16)
KILN_INSTANTIATE(BF16)
KILN_INSTANTIATE(std::int64_t)
KILN_INSTANTIATE(std::int32_t)
KILN_INSTANTIATE(std::int16_t)
KILN_INSTANTIATE(std::int8_t)
KILN_INSTANTIATE(std::uint64_t)
KILN_INSTANTIATE(std::uint32_t)
KILN_INSTANTIATE(std::uint16_t)
KILN_INSTANTIATE(std::uint8_t)
KILN_INSTANTIATE(bool)
#undef KILN_INSTANTIATE

}  // namespace kiln
