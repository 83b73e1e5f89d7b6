// A module as a tree of text.
#pragma once
#include <string>

#include "kiln/nn/module.hpp"

namespace kiln {

/// What text() takes.
template <class T>
concept Printable = requires(std::string& out, const T& value) { append(out, value); };

struct SummaryOptions {
  int depth = -1;  // how many modules deep: 0 is the model alone, -1 all
  int indentation = 2;
  bool options = true;  // behind the names of their modules
  bool tensors = true;  // a line for each parameter and buffer
};

namespace nn {

/// 1234567 -> "1,234,567"
std::string grouped(std::int64_t number);

/// Collects the lines; `Options` are the fields that are neither modules nor tensors.
class Tree {
 public:
  explicit Tree(const SummaryOptions& options) : options_(options) {}

  void open(std::string_view name, std::string_view type, std::int64_t params);
  void option(std::string_view name, const std::string& value);
  void tensor(std::string_view name, std::string_view role, const Value& value);
  void close() { --depth_; }
  std::string take() && { return std::move(text_ += '\n'); }

 private:
  /// Does what belongs to the module that was opened last have lines?
  bool is_shown() const { return options_.depth < 0 || depth_ - 1 <= options_.depth; }
  void begin_line(int depth);

  const SummaryOptions options_;
  std::string text_;
  int depth_ = 0;
};

/// Whether a module's part gets a line of its own; options stand behind their module's name.
template <class T>
concept Part = Branch<T> || ParamLike<T> || BufferLike<T> || ConstantLike<T>;

template <Branch M>
void draw(Tree& tree, std::string_view name, const M& module);

template <class T>
void draw_part(Tree& tree, std::string_view name, const T& part) {
  if constexpr (Branch<T>) {
    draw(tree, name, part);
  } else if constexpr (Part<T>) {
    if (part.empty()) return;
    std::string_view role = BufferLike<T> ? "buffer" : ConstantLike<T> ? "constant" : "";
    if constexpr (ParamLike<T>) role = part.is_frozen() ? "frozen" : "";
    tree.tensor(name, role, part.value());
  }
}

template <Branch M>
void draw(Tree& tree, std::string_view name, const M& module) {
  // What these hold takes their name.
  if constexpr (reflect::OptionalLike<M> || reflect::VariantLike<M> || is_unique_pointer<M>) {
    for_each_child(module, [&](std::string_view, const auto& held) { draw_part(tree, name, held); });
  } else {
    constexpr bool collects = reflect::ListLike<M> || reflect::TupleLike<M> || NamesItsParts<M>;
    tree.open(name, collects ? std::string_view() : module_name<M>(), num_params(module));
    for_each_child(module, [&]<class T>(std::string_view child, const T& part) {
      if constexpr (!Part<T> && Printable<T>) tree.option(child, text(part));
    });
    for_each_child(module, [&]<class T>(std::string_view child, const T& part) {
      if constexpr (Part<T>) draw_part(tree, child, part);
    });
    tree.close();
  }
}

}  // namespace nn

/// Names, types, options, shapes and numbers of parameters:
///
///     Model, 530,090 parameters
///       conv1: Conv2d, 80 parameters, stride [1, 1], padding [0, 0], dilation [1, 1], groups 1
///         weight [8, 1, 3, 3]
///         bias [8]
template <Module M>
std::string summary(const M& model, const SummaryOptions& options = {}) {
  nn::Tree tree(options);
  nn::draw(tree, {}, model);
  return std::move(tree).take();
}

}  // namespace kiln
