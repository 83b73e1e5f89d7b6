// The functions of JavaScript's Tensor (packaging/npm/index.js).
#include <array>

#include "kiln/browser/call.hpp"
#include "kiln/browser/handles.hpp"

namespace kiln::browser {
namespace {

struct TensorRequest {
  TensorData data;
  std::vector<std::int64_t> shape = {};  // with no size, that of the data
  std::optional<std::string> dtype = {};
};

/// A tensor of the data, on the default device.
Value tensor(const TensorRequest& request) {
  Shape shape;
  for (const std::int64_t size : request.shape) shape.push_back(size);
  TensorData data = request.data;
  if (request.dtype == "bool") data = data.to(DType::Bool);
  else
    require<DTypeError>(!request.dtype || request.dtype == name(data.dtype()), "Tensor: a typed array of ",
                        data.dtype(), " makes no tensor of ", *request.dtype);
  return from_data(request.shape.empty() ? data : data.reshaped(shape), default_device());
}

void dispose_all(const std::vector<Handle>& handles) {
  for (const Handle handle : handles) dispose(handle);
}

struct Memory {
  double handles, bytes, peak;
};
Memory memory() {
  const MemoryStatistics of_device = default_device().memory();
  return {static_cast<double>(handles()), static_cast<double>(of_device.in_use), static_cast<double>(of_device.peak)};
}

/// Memory that nothing uses is kept for what comes next, until this is called.
void release_memory() { default_device().release_memory(); }

void use_device(const std::string& name) { set_default_device(device_named(name)); }
std::string device_name() { return default_device().name(); }

constexpr std::array kFunctions{
    function<use_device>("kiln.use_device"),
    function<device_name>("kiln.device_name"),
    function<tensor>("kiln.tensor"),
    function<elements_of>("kiln.read"),
    function<dispose_all>("kiln.dispose"),
    function<memory>("kiln.memory"),
    function<release_memory>("kiln.release_memory"),
};

}  // namespace

std::span<const Function> tensor_functions() { return kFunctions; }

}  // namespace kiln::browser
