// Initializers: numbers, lists, and the tensors that a program closed over.
#include <algorithm>

#include "kiln/onnx/save/writing.hpp"

namespace kiln::onnx {
namespace {

bool is_uniform(const TensorData& data) {
  const std::size_t size = size_of(data.dtype());
  const auto bytes = data.bytes();
  for (std::size_t i = size; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - size]) return false;
  return true;
}

/// The dimensions from those whose elements lie farthest apart in memory to those that lie side by side; empty where
/// that is the order of the shape, or not known.
Dims order_of(const Value& x) {
  const kiln::Node& node = *x.node();
  const int rank = x.rank();
  if (node.strides.size() != rank) return {};
  Dims order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  const auto apart = [&](std::int64_t dim) { return std::abs(node.strides[static_cast<int>(dim)]); };
  std::sort(order.begin(), order.end(),
            [&](auto a, auto b) { return apart(a) != apart(b) ? apart(a) > apart(b) : a < b; });
  return std::is_sorted(order.begin(), order.end()) ? Dims{} : order;
}

}  // namespace

std::string Writing::add_initializer(TensorData data, std::string name) {
  TensorProto tensor;
  tensor.name = fresh(name);
  tensor.element = element_of(data.dtype());
  tensor.dims.assign(data.shape().begin(), data.shape().end());
  data_.push_back(std::move(data));
  tensor.raw_data = std::as_const(data_.back()).bytes();
  graph_.initializer.push_back(std::move(tensor));
  return graph_.initializer.back().name;
}

std::string Writing::constant(TensorData data, std::string_view name) {
  std::string key = text(kiln::name(data.dtype()), data.shape(), ":");
  key.append(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size());
  const auto [entry, is_new] = shared_.try_emplace(std::move(key));
  if (is_new) entry->second = add_initializer(std::move(data), std::string(name));
  return entry->second;
}

std::string Writing::number(const Scalar& number, DType dtype) {
  TensorData data({}, DType::F64);
  if (is_float(dtype)) {
    data = TensorData::of<double>({}, {number.to<double>()}).to(dtype);
  } else {
    data = TensorData::of<std::int64_t>({}, {number.to<std::int64_t>()}).to(dtype);
  }
  return constant(std::move(data), text("number_", number));
}

std::string Writing::ints(const Ints& list) {
  return constant(TensorData::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, std::span(list)), "sizes");
}

// A constant that has other sizes in other captures is made by nodes: filled with its number, or counted from 0.
std::string Writing::add_made_constant(std::int32_t id, const std::vector<Size>& shape) {
  const Value& value = program().constants.at(id);
  const TensorData data = value.data();
  const auto same_in_all = [&](auto&& holds) {
    return std::all_of(captures_.begin(), captures_.end(), [&](const Program& p) {
      const TensorData other = p.constants.at(id).data();
      return holds(other) && (other.numel() == 0 || data.numel() == 0 || other.at(0) == data.at(0));
    });
  };
  if (data.numel() > 0 && same_in_all(is_uniform)) {
    TensorProto tensor;
    tensor.element = element_of(data.dtype());
    tensor.dims = {1};
    data_.emplace_back(Shape{1}, data.dtype(),
                       std::vector<std::byte>(data.bytes().begin(), data.bytes().begin() + size_of(data.dtype())));
    tensor.raw_data = std::as_const(data_.back()).bytes();
    return one("ConstantOfShape", {sizes(shape)}, {attribute("value", std::move(tensor))});
  }
  const auto counts = [](const TensorData& other) {
    for (std::int64_t i = 0; i < other.numel(); ++i)
      if (other.at(i) != static_cast<double>(i)) return false;
    return other.shape().size() == 1;
  };
  if (data.numel() > 1 && same_in_all(counts)) {
    const std::string range = one("Range", {number(0, DType::I64), scalar(shape[0]), number(1, DType::I64)});
    return cast_name(*this, range, DType::I64, data.dtype());
  }
  complain("constant", text("a tensor that the function closes over, ", value,
                            ", has other sizes where free dimensions do; make it of the function's inputs"));
  return "?";
}

void Writing::check_same_elements(std::int32_t id) {
  const Value& value = program().constants.at(id);
  const TensorData data = value.data();
  for (const Program& other : captures_) {
    const Value& theirs = other.constants.at(id);
    if (theirs.node() == value.node()) continue;
    const TensorData mine = theirs.data();
    if (!std::equal(mine.bytes().begin(), mine.bytes().end(), data.bytes().begin(), data.bytes().end()))
      complain("constant", text("a tensor that the function closes over, ", value,
                                ", has other elements where free dimensions have other sizes"));
  }
}

// A parameter of the model is an initializer with its path, which all that read it share.
std::string Writing::add_parameter(const std::string& path, const Value& value, const Dims& order,
                                   const Dims& inverse) {
  const std::string key = text(path, value.node()->offset, value.shape(), value.node()->strides);
  if (const auto found = shared_.find(key); found != shared_.end()) return found->second;
  std::string name = add_initializer(order.empty() ? value.data() : permute(value, order).data(), path);
  const std::size_t dot = path.rfind('.');
  std::string scope = dot == std::string::npos ? "/" : text("/", path.substr(0, dot), "/");
  std::replace(scope.begin(), scope.end(), '.', '/');
  scopes_[name] = scope;
  if (!order.empty()) {
    name = transposed(*this, name, inverse);
    scopes_[name] = scope;
  }
  return shared_[key] = name;
}

// A tensor that the program closed over.
std::string Writing::add_constant(std::int32_t id) {
  const Value& value = program().constants.at(id);
  std::vector<Size> shape;
  bool fixed = true;
  for (int d = 0; d < value.rank(); ++d) shape.push_back(dim_of(id, d)), fixed = fixed && shape.back().is_fixed();
  const auto parameter = parameters_.find(value.node()->storage.get());
  const bool is_parameter = parameter != parameters_.end();
  if (!fixed || (!is_parameter && value.numel() >= 64 && is_uniform(value.data()))) return add_made_constant(id, shape);
  check_same_elements(id);
  const Dims order = order_of(value);
  Dims inverse = order;
  for (int i = 0; i < order.size(); ++i) inverse[static_cast<int>(order[i])] = i;
  if (is_parameter) return add_parameter(parameter->second, value, order, inverse);
  if (order.empty()) return constant(value.data(), "constant");
  return transposed(*this, constant(permute(value, order).data(), "constant"), inverse);
}

}  // namespace kiln::onnx
