#include "kiln/train/metric/image.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kiln::metric {
namespace {

constexpr std::int64_t kWindow = 11, kMiddle = kWindow / 2;

struct Plane {
  std::int64_t height = 0, width = 0;
  std::vector<double> values{};

  Plane(std::int64_t h, std::int64_t w) : height(h), width(w), values(static_cast<std::size_t>(h * w)) {}
  double& at(std::int64_t y, std::int64_t x) { return values[static_cast<std::size_t>(y * width + x)]; }
  double at(std::int64_t y, std::int64_t x) const { return values[static_cast<std::size_t>(y * width + x)]; }
};

const std::array<double, kWindow>& gaussian() {
  static const auto weights = [] {
    std::array<double, kWindow> made{};
    double sum = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const double distance = static_cast<double>(i) - kMiddle;
      sum += made[i] = std::exp(-distance * distance / (2 * 1.5 * 1.5));
    }
    for (double& weight : made) weight /= sum;
    return made;
  }();
  return weights;
}

/// The mean over each window of a(y, x) * b(y, x).
Plane blurred_product(const Plane& a, const Plane& b) {
  Plane rows(a.height, a.width - kWindow + 1), result(a.height - kWindow + 1, rows.width);
  for (std::int64_t y = 0; y < rows.height; ++y)
    for (std::int64_t x = 0; x < rows.width; ++x)
      for (std::int64_t i = 0; i < kWindow; ++i)
        rows.at(y, x) += gaussian()[static_cast<std::size_t>(i)] * a.at(y, x + i) * b.at(y, x + i);
  for (std::int64_t y = 0; y < result.height; ++y)
    for (std::int64_t i = 0; i < kWindow; ++i)
      for (std::int64_t x = 0; x < result.width; ++x)
        result.at(y, x) += gaussian()[static_cast<std::size_t>(i)] * rows.at(y + i, x);
  return result;
}

struct Similarity {
  double whole = 0, contrast = 0;  // means over windows
};

Similarity similarity(const Plane& a, const Plane& b, double range) {
  const double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
  Plane ones(a.height, a.width);
  std::fill(ones.values.begin(), ones.values.end(), 1.0);
  const Plane mean_a = blurred_product(a, ones), mean_b = blurred_product(b, ones);
  const Plane aa = blurred_product(a, a), bb = blurred_product(b, b), ab = blurred_product(a, b);
  Similarity sum;
  for (std::size_t i = 0; i < ab.values.size(); ++i) {
    const double ma = mean_a.values[i], mb = mean_b.values[i];
    const double spread = std::max(aa.values[i] - ma * ma, 0.0) + std::max(bb.values[i] - mb * mb, 0.0);
    const double contrast = (2 * (ab.values[i] - ma * mb) + c2) / (spread + c2);
    sum.contrast += contrast;
    sum.whole += contrast * (2 * ma * mb + c1) / (ma * ma + mb * mb + c1);
  }
  const auto windows = static_cast<double>(ab.values.size());
  return {sum.whole / windows, sum.contrast / windows};
}

Plane halved(const Plane& plane) {
  Plane half(plane.height / 2, plane.width / 2);
  for (std::int64_t y = 0; y < half.height; ++y)
    for (std::int64_t x = 0; x < half.width; ++x)
      half.at(y, x) = (plane.at(2 * y, 2 * x) + plane.at(2 * y, 2 * x + 1) + plane.at(2 * y + 1, 2 * x) +
                       plane.at(2 * y + 1, 2 * x + 1)) /
                      4;
  return half;
}

void require_same(std::string_view name, const Tensor<4>& images, const Tensor<4>& targets, std::int64_t least) {
  require<ShapeError>(images.shape() == targets.shape(), name, ": images ", images.shape(), " and targets ",
                      targets.shape(), " differ");
  require<ShapeError>(images.dim(2) >= least && images.dim(3) >= least, name, ": images ", images.shape(),
                      " are smaller than ", least, " x ", least);
}

/// Calls f(image number, plane, plane) for each channel of each image.
template <class F>
void for_each_plane(const Tensor<4>& images, const Tensor<4>& targets, F&& f) {
  const auto a = images.data().to_vector<double>(), b = targets.data().to_vector<double>();
  Plane first(images.dim(2), images.dim(3)), second = first;
  const auto size = static_cast<std::ptrdiff_t>(first.values.size());
  for (std::int64_t plane = 0; plane < images.dim(0) * images.dim(1); ++plane) {
    std::copy_n(a.begin() + plane * size, size, first.values.begin());
    std::copy_n(b.begin() + plane * size, size, second.values.begin());
    f(plane / images.dim(1), first, second);
  }
}

void require_range(std::string_view metric, double range) {
  require<ArgumentError>(range > 0 && std::isfinite(range), metric, ": range is ", range,
                         ", it must be positive and finite");
}

}  // namespace

void Psnr::update(const Tensor<4>& images, const Tensor<4>& targets) {
  require_range("psnr", range);
  require_same("psnr", images, targets, 0);
  const auto a = images.data().to_vector<double>(), b = targets.data().to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) squares += (a[i] - b[i]) * (a[i] - b[i]);
  count += static_cast<double>(a.size());
}

double Psnr::value() const {
  const double error = mean("psnr", squares, count);
  return error > 0 ? 10 * std::log10(range * range / error) : std::numeric_limits<double>::infinity();
}

void Ssim::update(const Tensor<4>& images, const Tensor<4>& targets) {
  require_range("ssim", range);
  require_same("ssim", images, targets, kWindow);
  for_each_plane(images, targets, [&](std::int64_t, const Plane& a, const Plane& b) {
    sum += similarity(a, b, range).whole / static_cast<double>(images.dim(1));
  });
  count += static_cast<double>(images.dim(0));
}

void MsSsim::update(const Tensor<4>& images, const Tensor<4>& targets) {
  static constexpr std::array kWeights = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};
  constexpr std::int64_t kLeast = (kWindow - 1) * (1 << (kWeights.size() - 1)) + 1;
  require_range("ms-ssim", range);
  require_same("ms-ssim", images, targets, kLeast);
  std::vector<std::array<double, kWeights.size()>> means(static_cast<std::size_t>(images.dim(0)));
  for_each_plane(images, targets, [&](std::int64_t image, Plane a, Plane b) {
    for (std::size_t scale = 0; scale < kWeights.size(); ++scale) {
      const Similarity here = similarity(a, b, range);
      const double part = scale + 1 < kWeights.size() ? here.contrast : here.whole;
      means[static_cast<std::size_t>(image)][scale] += part / static_cast<double>(images.dim(1));
      a = halved(a);
      b = halved(b);
    }
  });
  for (const auto& scales : means) {
    double product = 1;
    for (std::size_t i = 0; i < scales.size(); ++i) product *= std::pow(std::max(scales[i], 0.0), kWeights[i]);
    sum += product;
  }
  count += static_cast<double>(means.size());
}

}  // namespace kiln::metric
