// ParamChanges: gives a model's parameters new values in two steps, of which the second cannot fail.
//
//   ParamChanges changes(model, values);  // creates the new parameters; the model is unchanged, also after an error
//   changes.put();                        // allocates nothing
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/nn/module/part_type.hpp"

namespace kiln::nn {

class ParamChanges {
 public:
  /// `values` has the paths that visit_params() gives; other parameters stay unchanged. A frozen parameter stays frozen,
  /// and a tied parameter changes in all its places. Throws ShapeError or DTypeError for a value of another rank or kind.
  ParamChanges(const ModuleRef& model, const std::map<std::string, Value>& values);
  /// Changes the model, which must not have been moved since the constructor.
  void put() const noexcept;

 private:
  struct Change {
    void* param;
    const PartType* type;
    std::shared_ptr<const void> changed;
  };
  std::vector<Change> changes_;
};

}  // namespace kiln::nn
