#include "kiln/browser/convert.hpp"

#include "kiln/core/error/shown.hpp"

/// Defined in modules with WebGPU (kiln/backend/webgpu/device.cpp); null in others.
extern "C" [[gnu::weak]] const char kiln_webgpu_devices[];

namespace kiln::browser {
namespace {

Device& device_of_arrays() {
  static Device device;
  return device;
}

}  // namespace

const Device& default_device() {
  if (!device_of_arrays()) device_of_arrays() = Device::best();
  return device_of_arrays();
}
void set_default_device(const Device& device) { device_of_arrays() = device.inner(); }

TensorData elements_of(const Value& value) {
  TensorData data = value.data();
  const bool half = data.dtype() == DType::F16 || data.dtype() == DType::BF16;
  return half ? data.to(DType::F32) : data;
}

Device device_named(std::string_view name) {
  require<DeviceError>(kiln_webgpu_devices || !name.starts_with("webgpu"), "no device '", shown(name),
                       "' in this module: Kiln.start({device: 'webgpu'}) takes the one that has it, NAME.webgpu.js");
  return Device::parse(name);
}

namespace detail {

void fail_item(std::string_view where, std::string_view expected, const Item& item) {
  fail<ArgumentError>(where, " should be ", expected, ", and is ", described(item));
}

TensorData data_from(const Item& item, std::string_view where) {
  if (const auto* const data = std::get_if<TensorData>(&item.is)) return *data;
  if (const auto* const value = std::get_if<Value>(&item.is)) return value->data();
  fail_item(where, "a typed array or a tensor", item);
}

Value value_from(const Item& item, std::string_view where) {
  if (const auto* const value = std::get_if<Value>(&item.is)) return *value;
  if (const auto* const data = std::get_if<TensorData>(&item.is)) return kiln::from_data(*data, default_device());
  if (const auto* const number = std::get_if<double>(&item.is))
    return kiln::from_data(TensorData::of<float>({}, {static_cast<float>(*number)}), default_device());
  fail_item(where, "a tensor or a typed array", item);
}

Value tensor_from(const Item& item, std::string_view where, int rank, kiln::Kind kind) {
  constexpr const char* kKinds[] = {"floats", "integers", "truth values"};
  Value value = value_from(item, where);
  require<ArgumentError>(value.rank() == rank && kind_of(value.dtype()) == kind, where, " should be a tensor of ",
                         kKinds[static_cast<int>(kind)], " with ", rank, " dimensions, and is ", value);
  return value;
}

double number_from(const Item& item, std::string_view where, double least, double most, bool whole) {
  const auto* const number = std::get_if<double>(&item.is);
  if (!number) fail_item(where, "a number", item);
  if (!whole) return *number;  // NaN and infinities are numbers
  require<ArgumentError>(*number >= least && *number <= most && std::floor(*number) == *number, where,
                         " should be a whole number from ", least, " to ", most, ", and is ", *number);
  return *number;
}

void fail_field(std::string_view where, std::string_view name, std::span<const std::string_view> names) {
  fail<ArgumentError>(where, " has no '", shown(name), "'", did_you_mean(name, names));
}

}  // namespace detail
}  // namespace kiln::browser
