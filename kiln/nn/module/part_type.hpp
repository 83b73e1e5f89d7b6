// PartType: a table of functions for each type of module and of leaf. With it, traversals of models are compiled once
// for all types.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/function_ref.hpp"
#include "kiln/nn/module/part_path.hpp"
#include "kiln/nn/module/parts.hpp"

namespace kiln {

/// A type that text() accepts.
template <class T>
concept Printable = requires(std::string& out, const T& value) { append(out, value); };

namespace nn {

/// An option that summary() shows: a number or a text, or an enum, by its name.
template <class T>
concept ShownOption = Printable<T> || std::is_enum_v<T>;

/// Access to the tensor in a parameter, a buffer or a constant; the last six functions are for parameters only.
struct TensorAccess {
  const Value& (*value)(const void* leaf);
  void (*set)(void* leaf, const Value& value);  // a frozen parameter stays frozen
  void (*clear)(void* leaf);
  void (*learn)(const void* buffer, const Value& value);
  const Ref<ParamIdentity>& (*identity)(const void* param);
  void (*tie)(void* param, const void* other);  // makes it the same parameter as the other; allocates nothing
  std::shared_ptr<const void> (*with_value)(const void* param, const Value& value);  // the parameter after set()
  bool (*is_frozen)(const void* param);
  void (*set_frozen)(void* param, bool frozen);
  void (*set_computed)(void* param, const Value& value);
};

struct PartType {
  enum class Sort : std::uint8_t {
    Param,
    Buffer,
    Constant,
    Mode,
    Struct,      // or a Sequential: its name appears in a place's types
    Collection,  // a list, a map, a tuple: its parts have names, itself has none
    Holder,      // an optional, a variant, a pointer: its contents take its place
    Option,
  };
  /// The part is const if the module is.
  using Visit = FunctionRef<void(std::string_view name, void* part, const PartType& type)>;

  Sort sort;
  std::string_view name = {};  // for a struct: "Linear"
  void (*each_part)(void* module, Visit visit) = nullptr;
  const TensorAccess& (*tensor)() = nullptr;
  void (*print)(std::string& out, const void* option) = nullptr;
};

template <class L>
constexpr TensorAccess make_tensor_access() {
  TensorAccess access{};
  access.value = [](const void* leaf) -> const Value& { return static_cast<const L*>(leaf)->value(); };
  access.clear = [](void* leaf) { *static_cast<L*>(leaf) = L(); };
  if constexpr (ParamLike<L>) {
    access.set = [](void* p, const Value& value) { *static_cast<L*>(p) = static_cast<L*>(p)->with_value(value); };
    access.with_value = [](const void* p, const Value& value) -> std::shared_ptr<const void> {
      return std::make_shared<const L>(static_cast<const L*>(p)->with_value(value));
    };
    access.identity = [](const void* p) -> const Ref<ParamIdentity>& { return static_cast<const L*>(p)->identity(); };
    access.tie = [](void* p, const void* other) { *static_cast<L*>(p) = *static_cast<const L*>(other); };
    access.is_frozen = [](const void* p) { return static_cast<const L*>(p)->is_frozen(); };
    access.set_frozen = [](void* p, bool frozen) { *static_cast<L*>(p) = static_cast<L*>(p)->with_frozen(frozen); };
    access.set_computed = [](void* p, const Value& value) { *static_cast<L*>(p) = L::computed(value); };
  } else {
    access.set = [](void* leaf, const Value& value) { *static_cast<L*>(leaf) = L(value); };
    if constexpr (BufferLike<L>)
      access.learn = [](const void* buffer, const Value& value) { static_cast<const L*>(buffer)->set(value); };
  }
  return access;
}

/// The functions of the usual leaves are compiled once, in part_type.cpp.
template <class L>
const TensorAccess& tensor_access() {
  static constexpr TensorAccess access = make_tensor_access<L>();
  return access;
}
extern template const TensorAccess& tensor_access<Param<1>>();
extern template const TensorAccess& tensor_access<Param<2>>();
extern template const TensorAccess& tensor_access<Param<3>>();
extern template const TensorAccess& tensor_access<Param<4>>();
extern template const TensorAccess& tensor_access<Buffer<1>>();

template <class T>
constexpr PartType::Sort sort_of() {
  using enum PartType::Sort;
  if constexpr (ParamLike<T>) return Param;
  else if constexpr (BufferLike<T>) return Buffer;
  else if constexpr (ConstantLike<T>) return Constant;
  else if constexpr (Leaf<T>) return Mode;
  else if constexpr (!Branch<T>) return Option;
  else if constexpr (reflect::OptionalLike<T> || reflect::VariantLike<T> || is_unique_pointer<T>) return Holder;
  else if constexpr (Layered<T> || reflect::Aggregate<T>) return Struct;
  else return Collection;
}

template <class M> void each_part(void* module, PartType::Visit visit);

template <class T>
inline constexpr PartType kPartType = [] {
  PartType type{.sort = sort_of<T>()};
  if constexpr (Branch<T>) {
    if (type.sort == PartType::Sort::Struct) type.name = module_name<T>();
    type.each_part = each_part<T>;
  } else if constexpr (ParamLike<T> || BufferLike<T> || ConstantLike<T>) {
    type.tensor = tensor_access<T>;
  } else if constexpr (Printable<T>) {
    type.print = [](std::string& out, const void* option) { out += text(*static_cast<const T*>(option)); };
  } else if constexpr (ShownOption<T>) {
    type.print = [](std::string& out, const void* option) {
      reflect::append_text(out, *static_cast<const T*>(option));
    };
  }
  return type;
}();

template <class M>
void each_part(void* module, PartType::Visit visit) {
  for_each_child(*static_cast<M*>(module), [&]<class T>(std::string_view name, T& part) {
    using Part = std::remove_const_t<T>;
    if constexpr (Leaf<Part> || Branch<Part>) {
      static_assert(!std::is_const_v<T>, "a part of a module is const, so that it could be neither trained nor loaded");
      visit(name, &part, kPartType<Part>);
    } else {
      static_assert(Checked<Part>::kFits);
      if constexpr (ShownOption<Part>) visit(name, const_cast<Part*>(&part), kPartType<Part>);
    }
  });
}

/// A reference to a module, or another part of one, whose type is erased. It does not own it.
class ModuleView {
 public:
  template <class M>
  requires Branch<M> ModuleView(const M& model) : ModuleView(const_cast<M*>(&model), kPartType<M>) {}
  ModuleView(void* object, const PartType& type) : object_(object), type_(&type) {}

  /// Null if it has another type.
  template <class M>
  const M* get() const {
    return type_ == &kPartType<M> ? static_cast<const M*>(object_) : nullptr;
  }
  void* object() const { return object_; }
  const PartType& type() const { return *type_; }

 private:
  void* object_;
  const PartType* type_;
};

/// A ModuleView that may change the module.
class ModuleRef : public ModuleView {
 public:
  template <class M>
  requires(Branch<M> && !std::is_const_v<M>) ModuleRef(M& model) : ModuleView(&model, kPartType<M>) {}
  ModuleRef(void* object, const PartType& type) : ModuleView(object, type) {}
};

template <class Part>
ModuleView view_of(const Part& part) {
  if constexpr (std::derived_from<Part, ModuleView>) return part;
  else return {const_cast<Part*>(&part), kPartType<Part>};
}

/// A parameter, a buffer, a constant tensor or a mode of a model, with its rank and kind erased. Only valid during the
/// call of a visitor.
class AnyLeaf {
 public:
  AnyLeaf(void* object, const PartType& type) : object_(object), type_(&type) {}
  AnyLeaf(const AnyLeaf&) = delete;
  AnyLeaf& operator=(const AnyLeaf&) = delete;

  /// The leaf object inside its model, and its type.
  void* object() const { return object_; }
  const PartType& type() const { return *type_; }

  bool is_param() const { return type_->sort == PartType::Sort::Param; }
  bool is_buffer() const { return type_->sort == PartType::Sort::Buffer; }
  bool is_constant() const { return type_->sort == PartType::Sort::Constant; }
  /// Null if it has another type: leaf.get<nn::Param<2>>(), leaf.get<nn::Mode>().
  template <Leaf L>
  const L* get() const {
    return type_ == &kPartType<L> ? static_cast<const L*>(object_) : nullptr;
  }
  template <Leaf L>
  L* get() {
    return const_cast<L*>(std::as_const(*this).get<L>());
  }

  /// The tensor; empty if it is absent, and for a mode.
  const Value& value() const {
    static const Value none;
    return type_->tensor ? type_->tensor().value(object_) : none;
  }
  bool empty() const { return value().empty(); }
  const Shape& shape() const { return value().shape(); }
  std::int64_t numel() const { return value().numel(); }
  DType dtype() const { return value().dtype(); }
  Device device() const { return value().device(); }
  bool tracked() const { return value().tracked(); }
  /// Waits for the device.
  template <class T = float>
  std::vector<T> to_vector() const {
    return value().data().to_vector<T>();
  }
  /// Replaces the tensor by one of the same rank and kind; a frozen parameter stays frozen. Throws ShapeError,
  /// DTypeError.
  void set(const Value& value) { type_->tensor().set(object_, value); }
  /// Makes it absent.
  void clear() { type_->tensor().clear(object_); }

  /// Updates a buffer with what a forward pass computed.
  void learn(const Value& value) const { type_->tensor().learn(object_, value); }

  // These are for parameters only.
  const Ref<ParamIdentity>& identity() const { return type_->tensor().identity(object_); }
  bool is_frozen() const { return type_->tensor().is_frozen(object_); }
  void set_frozen(bool frozen) { type_->tensor().set_frozen(object_, frozen); }
  /// See Param::computed().
  void set_computed(const Value& value) { type_->tensor().set_computed(object_, value); }

 private:
  void* object_;
  const PartType* type_;
};

}  // namespace nn
}  // namespace kiln
