#include "kiln/backend/vulkan/matrices.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "kiln/backend/gpu/kernel/print/matrices.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::vulkan {
namespace {

// ---- the device ----------------------------------------------------------------------------------------------------
// Names and numbers are those of the Vulkan specification (VK_KHR_cooperative_matrix, VK_KHR_shader_bfloat16).

constexpr const char *kMatrixExtension = "VK_KHR_cooperative_matrix", *kBfloat16Extension = "VK_KHR_shader_bfloat16";
constexpr auto kMatrixFeatures = static_cast<VkStructureType>(1000506000),
               kMatrixProperties = static_cast<VkStructureType>(1000506001),
               kBfloat16Features = static_cast<VkStructureType>(1000141000);

struct MatrixProperties {
  VkStructureType sType;
  void* pNext;
  std::uint32_t rows, columns, depth;
  std::int32_t left, right, sums, results;  // types of elements
  VkBool32 saturates;
  std::int32_t scope;
};
using GetMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice, std::uint32_t*, MatrixProperties*);

constexpr std::int32_t kFloat16 = 0, kFloat32 = 1, kBfloat16 = 1000141000, kSubgroup = 3;

std::optional<DType> dtype_of(std::int32_t type) {
  if (type == kFloat16) return DType::F16;
  if (type == kBfloat16) return DType::BF16;
  return std::nullopt;
}

}  // namespace

MatrixUnits matrix_units_of(const Api& api, VkInstance instance, const PhysicalDevice& device) {
  MatrixUnits units;
  const VkPhysicalDeviceVulkan12Features& has = device.features12;
  if (!device.has(kMatrixExtension) || !has.vulkanMemoryModel || !has.vulkanMemoryModelDeviceScope ||
      !has.shaderFloat16 || !device.features.shaderInt16 || !device.features11.storageBuffer16BitAccess)
    return units;
  const auto list = reinterpret_cast<GetMatrixProperties>(
      api.GetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
  if (!list) return units;
  std::uint32_t count = 0;
  if (list(device.handle, &count, nullptr) != VK_SUCCESS) return units;
  std::vector<MatrixProperties> all(count);
  for (MatrixProperties& each : all) each.sType = kMatrixProperties;
  if (list(device.handle, &count, all.data()) != VK_SUCCESS) return units;
  all.resize(count);
  // The tallest first.
  std::ranges::stable_sort(all, std::greater{}, &MatrixProperties::rows);
  for (const MatrixProperties& each : all) {
    const std::optional<DType> factors = dtype_of(each.left);
    const bool fits = (each.rows == 16 || each.rows == 8) && each.columns == 16 && each.depth == 16;
    if (!factors || each.right != each.left || each.sums != kFloat32 || each.results != kFloat32 || each.saturates ||
        each.scope != kSubgroup || !fits || (*factors == DType::BF16 && !device.has(kBfloat16Extension)))
      continue;
    units.bfloat16 |= *factors == DType::BF16;
    units.fragments.push_back({static_cast<int>(each.rows), 16, 16, *factors, DType::F32});
  }
  return units;
}

MatrixFeatures::MatrixFeatures(const MatrixUnits& units)
    : has_matrices_(!units.fragments.empty()),
      has_bfloat16_(units.bfloat16),
      matrices_{kMatrixFeatures, nullptr, {VK_TRUE, VK_FALSE, VK_FALSE}},
      bfloat16_{kBfloat16Features, nullptr, {VK_TRUE, VK_FALSE, VK_TRUE}} {}

void* MatrixFeatures::before(void* next) {
  if (has_bfloat16_) {
    bfloat16_.pNext = next;
    next = &bfloat16_;
  }
  if (has_matrices_) {
    matrices_.pNext = next;
    next = &matrices_;
  }
  return next;
}

std::vector<const char*> MatrixFeatures::extensions() const {
  std::vector<const char*> all;
  if (has_matrices_) all.push_back(kMatrixExtension);
  if (has_bfloat16_) all.push_back(kBfloat16Extension);
  return all;
}

// ---- the module ----------------------------------------------------------------------------------------------------

namespace {

using Words = std::vector<std::uint32_t>;

// Numbers of SPIR-V's specification and of the extensions SPV_NV_cooperative_matrix, SPV_KHR_cooperative_matrix and
// SPV_KHR_bfloat16.
enum Opcode : std::uint32_t {
  kExtension = 10,
  kCapability = 17,
  kTypeFloat = 22,
  kConstantTrue = 41,
  kConstant = 43,
  kSpecConstant = 50,
  kDecorate = 71,
  kMultiplyElements = 133,
  kDivide = 136,
  kTypeMatrixNv = 5358,
  kLoadNv = 5359,
  kStoreNv = 5360,
  kMultiplyNv = 5361,
  kTypeMatrix = 4456,
  kLoad = 4457,
  kStore = 4458,
  kMultiply = 4459,
};
constexpr std::uint32_t kMatricesNv = 5357, kMatrices = 6022, kBfloat16Type = 5116, kBfloat16Matrices = 5118;
constexpr std::uint32_t kSpecId = 1, kHeader = 5;
constexpr std::string_view kExtensionNv = "SPV_NV_cooperative_matrix";

void append(Words& to, std::uint32_t opcode, std::initializer_list<std::uint32_t> operands) {
  to.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16 | opcode);
  to.insert(to.end(), operands);
}

void append_extension(Words& to, std::string_view name) {
  Words text(name.size() / 4 + 1);
  std::memcpy(text.data(), name.data(), name.size());
  to.push_back(static_cast<std::uint32_t>(text.size() + 1) << 16 | kExtension);
  to.insert(to.end(), text.begin(), text.end());
}

class Rewriting {
 public:
  explicit Rewriting(std::span<const std::uint32_t> module)
      : from_(module), made_(module.begin(), module.begin() + kHeader) {}

  Words run() {
    each([&](std::uint32_t opcode, std::span<const std::uint32_t> in) { note(opcode, in); });
    // New ids follow those that there are.
    std::uint32_t& bound = made_[3];
    for (std::uint32_t& id : numbers_) id = bound++;
    bfloat16_ = bound++;
    each([&](std::uint32_t opcode, std::span<const std::uint32_t> in) { rewrite(opcode, in); });
    return std::move(made_);
  }

 private:
  /// Calls f(opcode, operands) for each instruction.
  template <class F>
  void each(F f) {
    for (std::size_t at = kHeader; at < from_.size();) {
      const std::uint32_t count = from_[at] >> 16;
      require<DeviceError>(count > 0 && at + count <= from_.size(), "vulkan: glslang made no SPIR-V module");
      f(from_[at] & 0xffffu, from_.subspan(at + 1, count - 1));
      at += count;
    }
  }

  void note(std::uint32_t opcode, std::span<const std::uint32_t> in) {
    if (opcode == kDecorate && in.size() == 3 && in[1] == kSpecId && gpu::is_matrix_constant(in[2]))
      rows_[in[0]] = in[2];
    if (opcode == kSpecConstant && rows_.contains(in[1])) integer_ = in[0];
    if (opcode == kConstantTrue) true_ = in[1];
    if (opcode == kTypeMatrixNv) has_bfloat16_ |= gpu::is_of_bfloat16(number_of(in[3]));
  }

  /// The number of the constant that a matrix's rows are.
  std::uint32_t number_of(std::uint32_t rows) const {
    const auto known = rows_.find(rows);
    require<DeviceError>(known != rows_.end(), "vulkan: a matrix does not say what it is used for");
    return known->second;
  }

  void rewrite(std::uint32_t opcode, std::span<const std::uint32_t> in) {
    switch (opcode) {
      case kCapability:
        if (in[0] != kMatricesNv) break;
        append(made_, kCapability, {kMatrices});
        if (has_bfloat16_) append(made_, kCapability, {kBfloat16Type});
        if (has_bfloat16_) append(made_, kCapability, {kBfloat16Matrices});
        return;
      case kExtension:
        if (std::string_view(reinterpret_cast<const char*>(in.data())) != kExtensionNv) break;
        append_extension(made_, "SPV_KHR_cooperative_matrix");
        if (has_bfloat16_) append_extension(made_, "SPV_KHR_bfloat16");
        return;
      case kTypeMatrixNv: return type(in);
      // The type and the result, or the pointer and the matrix, stay; NV has the stride first, KHR the order.
      case kLoadNv: return moved(kLoad, {in[0], in[1], in[2], order(in[4]), in[3]}, in.subspan(5));
      case kStoreNv: return moved(kStore, {in[0], in[1], order(in[3]), in[2]}, in.subspan(4));
      case kMultiplyNv: return append(made_, kMultiply, {in[0], in[1], in[2], in[3], in[4]});
      // Body::matrix prints a quotient for a product of elements, which NV lacks.
      case kDivide:
        if (!types_.contains(in[0])) break;
        return append(made_, kMultiplyElements, {in[0], in[1], in[2], in[3]});
      default: break;
    }
    made_.push_back(static_cast<std::uint32_t>(in.size() + 1) << 16 | opcode);
    made_.insert(made_.end(), in.begin(), in.end());
  }

  void moved(std::uint32_t opcode, std::initializer_list<std::uint32_t> operands,
             std::span<const std::uint32_t> access) {
    append(made_, opcode, operands);
    made_[made_.size() - operands.size() - 1] += static_cast<std::uint32_t>(access.size()) << 16;
    made_.insert(made_.end(), access.begin(), access.end());
  }
  /// An order by rows is 0, by columns 1; NV's constant says whether it is by columns.
  std::uint32_t order(std::uint32_t by_columns) const { return numbers_[by_columns == true_ ? 1 : 0]; }

  /// A type says what its matrices are used for: left and right factors and sums are 0, 1 and 2.
  void type(std::span<const std::uint32_t> in) {
    if (!declared_)
      for (std::uint32_t i = 0; i < numbers_.size(); ++i) append(made_, kConstant, {integer_, numbers_[i], i});
    if (!declared_ && has_bfloat16_) append(made_, kTypeFloat, {bfloat16_, 16, 0});
    declared_ = true;
    types_.insert(in[0]);
    const std::uint32_t number = number_of(in[3]);
    const auto use = static_cast<std::uint32_t>(gpu::matrix_use(number));
    append(made_, kTypeMatrix,
           {in[0], gpu::is_of_bfloat16(number) ? bfloat16_ : in[1], in[2], in[3], in[4], numbers_[use]});
  }

  const std::span<const std::uint32_t> from_;
  Words made_;
  std::map<std::uint32_t, std::uint32_t> rows_;  // the numbers of the constants that are rows, by id
  std::set<std::uint32_t> types_;                // ids of the types of matrices
  std::uint32_t integer_ = 0, true_ = 0;         // ids of a type and a constant
  std::array<std::uint32_t, 3> numbers_{};       // ids of the constants 0, 1 and 2
  std::uint32_t bfloat16_ = 0;                   // id of the type
  bool has_bfloat16_ = false, declared_ = false;
};

}  // namespace

std::vector<std::uint32_t> with_khr_matrices(std::span<const std::uint32_t> module) {
  require<DeviceError>(module.size() > kHeader, "vulkan: glslang made no SPIR-V module");
  const std::uint32_t capability[] = {2u << 16 | kCapability, kMatricesNv};
  // Capabilities are the first instructions, of two words each.
  for (std::size_t at = kHeader; at + 1 < module.size() && module[at] == capability[0]; at += 2)
    if (module[at + 1] == capability[1]) return Rewriting(module).run();
  return {module.begin(), module.end()};
}

}  // namespace kiln::vulkan
