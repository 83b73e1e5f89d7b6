// A record that is put together at run time: objects that live elsewhere, each under its path. For checkpoints, whose parts
// are a model, optimizers, metrics and whatever callbacks there are.
#pragma once
#include <string>
#include <vector>

#include "kiln/store/record/anything.hpp"

namespace kiln {

class RecordedObjects {
 public:
  /// The object has to live as long. Throws ArgumentError where the path is taken.
  template <class T>
  requires(!std::is_const_v<T>) void add(const std::string& path, T& object) {
    add(Part{path, &object,
             [](const void* part, const std::string& its_path, detail::RecordVisitor& visitor, nn::Met& met) {
               detail::visit_record(*static_cast<const T*>(part), its_path, visitor, met);
             }});
  }
  /// One that is kept, but goes on as it is where a record has none, or another's; under `path`, or where that is taken, a
  /// number behind it.
  template <class T>
  requires(!std::is_const_v<T>) void add_optional(const std::string& path, T& object) {
    add(free_optional(path), object);
  }

  /// What save_record() writes. It holds the values as they are now, whatever becomes of the objects: values never
  /// change, so nothing is copied but numbers and lists of numbers. Another thread may read it.
  TensorSource snapshot(Metadata metadata) const;
  /// Brings back what a snapshot held: all of it, or nothing and an error, as load_record().
  void restore(const TensorSource& record, std::string_view file, const LoadOptions& options = {});

 private:
  struct Part {
    std::string path;
    const void* object;
    void (*visit)(const void* object, const std::string& path, detail::RecordVisitor& visitor, nn::Met& met);
    void visit_with(detail::RecordVisitor& visitor) const {
      nn::Met met;
      visit(object, path, visitor, met);
    }
  };
  void add(Part part);
  std::string free_optional(const std::string& path) const;

  std::vector<Part> parts_;
};

}  // namespace kiln
