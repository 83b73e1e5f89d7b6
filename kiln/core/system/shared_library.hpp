// A shared library that is opened while a program runs, so that the program is built and started without it.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace kiln {

/// Stays open until the program ends.
class SharedLibrary {
 public:
  /// Opens the first of `names` that the loader finds. Throws DeviceError, which says which device needs the library,
  /// what for ("multiplies matrices") and, by `remedy`, what to install.
  SharedLibrary(std::string_view device, std::string_view purpose, std::span<const char* const> names,
                std::string_view remedy);
  SharedLibrary(std::string_view device, std::string_view purpose, std::initializer_list<const char*> names,
                std::string_view remedy)
      : SharedLibrary(device, purpose, std::span(names.begin(), names.size()), remedy) {}

  /// Finds the function of that name. Throws DeviceError if the library is too old to have it.
  template <class F>
  void find(const char* name, F*& function) const {
    static_assert(std::is_function_v<F>);
    function = reinterpret_cast<F*>(address_of(name));
  }
  /// Finds a function, or sets null if there is none of that name.
  template <class F>
  void find_if_there(const char* name, F*& function) const {
    static_assert(std::is_function_v<F>);
    function = reinterpret_cast<F*>(find_address(name));
  }
  const std::string& name() const { return name_; }

 private:
  void* find_address(const char* name) const;
  void* address_of(const char* name) const;

  void* handle_ = nullptr;
  std::string device_, name_, remedy_;
};

/// A library that a program can do without. Nothing here throws: problem() says what is missing. Stays open until the
/// program ends.
class OptionalLibrary {
 public:
  /// Opens the first of `names` that the loader finds. `known_as` ("libcurl") and `package` ("libcurl4", Debian's) name
  /// it in problem().
  OptionalLibrary(std::string_view known_as, std::initializer_list<const char*> names, std::string_view package);

  /// Finds the function of that name; sets null where there is none, which is a problem then.
  template <class F>
  void find(const char* name, F*& function) {
    static_assert(std::is_function_v<F>);
    function = reinterpret_cast<F*>(address_of(name));
  }
  /// Returns why the library cannot be used; an empty text if it can.
  const std::string& problem() const { return problem_; }

 private:
  void* address_of(const char* name);

  void* handle_ = nullptr;
  std::string known_as_, problem_;
};

}  // namespace kiln
