// Saves captured graphs to files and loads them into other programs, which need not know what was captured.
//
//   save(capture([&](const Tensor<2>& x) { return model.forward(x).softmax(1); }, x), "classifier.safetensors");
//
//   const auto classify = load_graph<Tensor<2>(Tensor<2>)>("classifier.safetensors", Device::best());
//   Tensor<2> probabilities = classify(x);
#pragma once
#include <string>

#include "kiln/store/graph_record.hpp"
#include "kiln/tensor/capture.hpp"

namespace kiln {

/// Saves the graph with its tensors as a safetensors file, which is replaced atomically. Throws IoError, or
/// ArgumentError as record_of() does.
void save(const Graph& graph, const std::string& path, const Metadata& metadata = {});

/// Throws IoError, and what graph_from_record() throws.
Graph load_graph(const std::string& path, const Device& device);

template <class Result, class... Args>
void save(const Captured<Result, Args...>& captured, const std::string& path, const Metadata& metadata = {}) {
  save(captured.graph(), path, metadata);
}

namespace detail {

/// A parameter or result of a function as a type of tensor: `descs` fit if their rank and kind are these.
struct TensorType {
  int rank;
  Kind kind;
};
void check_signature(std::string_view file, std::string_view what, const std::vector<Desc>& descs,
                     std::initializer_list<TensorType> types);
template <class T>
constexpr TensorType tensor_type() {
  return {OperandTraits<T>::kRank, OperandTraits<T>::Kind::kKind};
}

template <class Signature>
struct Loaded;
template <class Result, class... Args>
struct Loaded<Result(Args...)> {
  using type = Captured<Result, std::remove_cvref_t<Args>...>;
  static void check(std::string_view file, const std::vector<Desc>& descs) {
    check_signature(file, "gives", descs, {tensor_type<Result>()});
  }
};
template <class... Results, class... Args>
struct Loaded<std::tuple<Results...>(Args...)> {
  using type = Captured<std::tuple<Results...>, std::remove_cvref_t<Args>...>;
  static void check(std::string_view file, const std::vector<Desc>& descs) {
    check_signature(file, "gives", descs, {tensor_type<Results>()...});
  }
};
template <class Result, class... Args>
void check_inputs(Result (*)(Args...), std::string_view file, const std::vector<Desc>& descs) {
  check_signature(file, "takes", descs, {tensor_type<std::remove_cvref_t<Args>>()...});
}

}  // namespace detail

/// Loads the graph as a function of tensors: load_graph<Tensor<1>(Tensor<2>, Tensor<2, Int>)>(path, device). Several
/// results are a std::tuple. Throws LoadError if the graph's parameters or results have other ranks or kinds, or
/// another number.
template <class Signature>
typename detail::Loaded<Signature>::type load_graph(const std::string& path, const Device& device) {
  Graph graph = load_graph(path, device);
  detail::check_inputs(static_cast<Signature*>(nullptr), path, graph.inputs());
  detail::Loaded<Signature>::check(path, graph.outputs());
  return typename detail::Loaded<Signature>::type(std::move(graph));
}

}  // namespace kiln
