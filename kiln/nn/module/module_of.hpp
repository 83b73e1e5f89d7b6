// The compiler says one sentence where a function takes a module and is given something else.
#pragma once
#include <concepts>
#include <type_traits>

#include "kiln/nn/module/part_type.hpp"

namespace kiln::nn {

/// The module with its type erased. Does not compile for a type that is none; the sentence says what may be meant.
template <class T>
ModuleView module_of(const T& model) {
  constexpr bool kModule = std::derived_from<T, ModuleView> || Branch<T>;
  constexpr bool kPointer = !kModule && (std::is_pointer_v<T> || reflect::SmartPointer<T>);
  constexpr bool kLearner = requires { model.result(); };
  constexpr bool kOther = !kModule && !kPointer && !kLearner && !ConstantLike<T>;
  static_assert(!kPointer, "a pointer is no module: pass what it points to, *model");
  static_assert(kModule || !kLearner, "a Learner is no module: pass the model that it trained, learner.result()");
  static_assert(!ConstantLike<T>,
                "a tensor is no module: make it a field of a struct, struct Model { nn::Param<2> weight; }");
  static_assert(
      !kOther,
      "this type is no module: make it a plain struct of parameters and modules, without constructors, private "
      "fields and virtual functions, or give it a layers() that returns std::tie of them");
  if constexpr (kModule) return model;
  else return {nullptr, kPartType<Mode>};
}

/// Takes the place of a module in overloads that are chosen for no module, and does not compile. Such an overload is a
/// template<class = void>, so that a user's function of the same name that fits is preferred.
class NoModule {
 public:
  explicit NoModule() = default;
  template <class T>
  requires(!Branch<T> && !std::derived_from<T, ModuleView>) NoModule(const T& given) {
    (void)module_of(given);
  }
  /// A use of the result needs no error of its own.
  template <class T>
  operator T() const {
    __builtin_unreachable();
  }
};

}  // namespace kiln::nn
