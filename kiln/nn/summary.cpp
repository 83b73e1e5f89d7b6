#include "kiln/nn/summary.hpp"

namespace kiln {

std::string nn::grouped(std::int64_t number) {
  std::string digits = text(number);
  for (auto at = static_cast<std::int64_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), 1, ',');
  return digits;
}

namespace {

using nn::ModuleView, nn::PartType;

std::string_view role_of(const nn::AnyLeaf& leaf) {
  if (leaf.is_buffer()) return "buffer";
  if (leaf.is_constant()) return "constant";
  return leaf.is_frozen() ? "frozen" : "";
}

/// Collects the lines. Options are the fields that are neither modules nor tensors; they follow their module's name.
class Tree {
 public:
  explicit Tree(const SummaryOptions& options) : options_(options) {}

  void draw(std::string_view name, const ModuleView& part);
  std::string take() && { return std::move(text_ += '\n'); }

 private:
  void open(std::string_view name, std::string_view type, std::int64_t params);
  void option(std::string_view name, const std::string& value);
  void tensor(std::string_view name, std::string_view role, const Value& value);
  /// Are lines shown for the parts of the module that was opened last?
  bool is_shown() const { return options_.depth < 0 || depth_ - 1 <= options_.depth; }
  void begin_line(int depth);

  const SummaryOptions options_;
  std::string text_;
  int depth_ = 0;
};

void Tree::draw(std::string_view name, const ModuleView& part) {
  const PartType& type = part.type();
  if (type.tensor) {
    const nn::AnyLeaf leaf(part.object(), type);
    if (!leaf.empty()) tensor(name, role_of(leaf), leaf.value());
  }
  if (!type.each_part) return;
  if (type.sort == PartType::Sort::Holder)  // its contents take its name
    return type.each_part(part.object(), [&](std::string_view, void* held, const PartType& held_type) {
      draw(name, ModuleView(held, held_type));
    });
  open(name, type.name, num_params(part));
  type.each_part(part.object(), [&](std::string_view child, void* held, const PartType& held_type) {
    if (!held_type.print) return;
    std::string value;
    held_type.print(value, held);
    option(child, value);
  });
  type.each_part(part.object(), [&](std::string_view child, void* held, const PartType& held_type) {
    draw(child, ModuleView(held, held_type));
  });
  --depth_;
}

void Tree::begin_line(int depth) {
  if (!text_.empty()) text_ += '\n';
  text_.append(static_cast<std::size_t>(options_.indentation * depth), ' ');
}

void Tree::open(std::string_view name, std::string_view type, std::int64_t params) {
  ++depth_;
  if (!is_shown()) return;
  begin_line(depth_ - 1);
  text_ += name;
  if (!name.empty() && !type.empty()) text_ += ": ";
  text_ += type;
  if (!params) return;
  const char* const comma = name.empty() && type.empty() ? "" : ", ";
  text_ += text(comma, nn::grouped(params), params == 1 ? " parameter" : " parameters");
}

void Tree::option(std::string_view name, const std::string& value) {
  if (value == "[]") return;  // an option that is not set
  if (options_.options && is_shown()) text_ += text(", ", name, name.empty() ? "" : " ", value);
}

void Tree::tensor(std::string_view name, std::string_view role, const Value& value) {
  if (!options_.tensors || !is_shown()) return;
  begin_line(depth_);
  text_ += text(name, " ", value.shape());
  if (value.dtype() != DType::F32) text_ += text(" ", value.dtype());
  if (!role.empty()) text_ += text(" ", role);
}

}  // namespace

std::string summary(const nn::ModuleView& model, const SummaryOptions& options) {
  Tree tree(options);
  tree.draw({}, model);
  return std::move(tree).take();
}

}  // namespace kiln
