// The function that a user called, for errors raised by the operations that it is composed of.
#pragma once
#include <string>
#include <string_view>

namespace kiln {

/// While this object lives, errors about operands on this thread name `function` instead of the operation inside it:
/// `take: index 6 ...` where the op is ravel_index. The outermost of nested scopes is used. `nullptr` starts a fresh
/// state, for work that another caller asked for.
class CalledAs {
 public:
  explicit CalledAs(const char* function);
  ~CalledAs();
  CalledAs(const CalledAs&) = delete;
  CalledAs& operator=(const CalledAs&) = delete;

  /// Null outside of any scope.
  static const char* function();
  /// The sentence with `function` in place of the name that it begins with, or in front where it begins with none.
  static std::string rename(const char* function, std::string_view sentence);

 private:
  const char* before_;
};

}  // namespace kiln
