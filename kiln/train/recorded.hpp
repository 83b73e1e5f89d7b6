// A record that is assembled at run time from objects that are owned elsewhere, each under its path. For checkpoints,
// which consist of a model, optimizers, metrics and callbacks.
#pragma once
#include <string>
#include <vector>

#include "kiln/store/record/object_record.hpp"

namespace kiln {

class RecordedObjects {
 public:
  /// The object must outlive this. Throws ArgumentError if the path is taken.
  template <class T>
  requires(!std::is_const_v<T>) void add(const std::string& path, T& object) {
    add(RecordedObject{
        path, &object,
        [](const void* part, const std::string& its_path, detail::RecordVisitor& visitor, nn::VisitedParams& met) {
          detail::visit_record(*static_cast<const T*>(part), its_path, visitor, met);
        }});
  }
  /// Adds an object that is saved, but left unchanged if a record has none or does not fit; under `path`, or with a
  /// number appended if that is taken.
  template <class T>
  requires(!std::is_const_v<T>) void add_optional(const std::string& path, T& object) {
    add(free_optional(path), object);
  }

  /// What save_record() writes. It holds the current values, independent of later changes of the objects: values are
  /// immutable, so only numbers and lists of numbers are copied. Another thread may read it.
  TensorSource snapshot(Metadata metadata) const;
  /// Restores all that a snapshot held, or throws and changes nothing, like load_record().
  void restore(const TensorSource& record, std::string_view file, const LoadOptions& options = {});

 private:
  struct RecordedObject {
    std::string path;
    const void* object;
    void (*visit)(const void* object, const std::string& path, detail::RecordVisitor& visitor, nn::VisitedParams& met);
    void visit_with(detail::RecordVisitor& visitor) const {
      nn::VisitedParams met;
      visit(object, path, visitor, met);
    }
  };
  void add(RecordedObject part);
  std::string free_optional(const std::string& path) const;

  std::vector<RecordedObject> parts_;
};

}  // namespace kiln
