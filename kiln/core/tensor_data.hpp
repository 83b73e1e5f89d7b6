// The contents of a tensor on the host: bytes in row-major order, a shape and an element type. This is what is
// uploaded, downloaded, saved, loaded and compared in tests. The bytes are owned, or borrowed, as from a mapped file.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {

class [[nodiscard("elements are returned, and stored nowhere else")]] TensorData {
 public:
  TensorData() : TensorData(Shape{0}, DType::F32) {}
  /// A tensor of zeros.
  TensorData(const Shape& shape, DType dtype);
  /// Takes ownership of the bytes. Throws ShapeError where their number is not numel(shape) * size_of(dtype).
  TensorData(const Shape& shape, DType dtype, std::vector<std::byte> bytes);
  /// Borrows bytes without a copy; `owner` keeps them unchanged for as long as it lives. Access for writing makes a
  /// copy first. Bytes that cannot be read in place are copied at once: elements that are not aligned, and booleans.
  /// Throws ShapeError as above.
  static TensorData lent(const Shape& shape, DType dtype, std::span<const std::byte> bytes,
                         std::shared_ptr<const void> owner);
  /// The owner of borrowed bytes; null where the tensor owns them.
  const std::shared_ptr<const void>& owner() const { return owner_; }

  /// TensorData::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})
  template <class T>
  static TensorData of(const Shape& shape, std::span<const T> values);
  template <class T>
  static TensorData of(const Shape& shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }

  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }
  DType dtype() const { return dtype_; }
  std::int64_t numel() const { return kiln::numel(shape_); }
  std::span<const std::byte> bytes() const& { return owner_ ? lent_ : std::span<const std::byte>(bytes_); }
  std::span<std::byte> bytes() &;
  std::span<std::byte> bytes() && = delete;  // it would outlive its tensor: give the tensor a name first

  /// The elements in place. Throws DTypeError where T is not the element type.
  template <class T>
  std::span<const T> as() const&;
  template <class T>
  std::span<T> as() &;
  template <class T>
  std::span<T> as() && = delete;  // it would outlive its tensor

  /// The elements converted to T, as Scalar::to does.
  template <class T>
  std::vector<T> to_vector() const;
  TensorData to(DType dtype) const;
  TensorData reshaped(const Shape& shape) const;
  /// Element `index` in row-major order as a double (int64 beyond 2^53 loses digits).
  double at(std::int64_t index) const;

 private:
  Shape shape_;
  DType dtype_;
  std::vector<std::byte> bytes_;  // empty while the bytes are borrowed
  std::span<const std::byte> lent_;
  std::shared_ptr<const void> owner_;
};

struct Tolerance {
  double relative = 1e-5, absolute = 1e-6;
  bool equal_nan = true;
};

/// Returns an empty string where `actual` has the shape and dtype of `expected` and every element is within
/// absolute + relative * |expected|; otherwise a readable report: how many elements differ, the worst, and the first
/// few as "[0, 3]: 1.5, expected 1.25 (off by 0.25)".
std::string difference(const TensorData& actual, const TensorData& expected, const Tolerance& tolerance = {});

}  // namespace kiln
