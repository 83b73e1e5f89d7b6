// A record that is put together at run time: objects that live elsewhere, each under its path. For checkpoints, whose parts
// are a model, optimizers, metrics and whatever callbacks there are.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "kiln/store/record/anything.hpp"

namespace kiln {

class RecordedObjects {
 public:
  /// The object has to live as long. Throws ArgumentError where the path is taken.
  template <class T>
  void add(const std::string& path, T& object) {
    add(Part{path, [&object, path](detail::RecordWriter& writer) { visit(std::as_const(object), path, writer); },
             [&object, path](detail::RecordReader& reader) { visit(std::as_const(object), path, reader); },
             [&object, path](detail::RecordTaker& taker) { visit(object, path, taker); }});
  }

  /// What save_record() writes. It holds the values as they are now, whatever becomes of the objects: values never
  /// change, so nothing is copied but numbers and lists of numbers. Another thread may read it.
  TensorSource snapshot(Metadata metadata) const;
  /// Brings back what a snapshot held: all of it, or nothing and an error, as load_record().
  void restore(const TensorSource& record, std::string_view file);

 private:
  struct Part {
    std::string path;
    std::function<void(detail::RecordWriter&)> write;
    std::function<void(detail::RecordReader&)> read;
    std::function<void(detail::RecordTaker&)> take;
  };
  template <class T, class Visitor>
  static void visit(T& object, const std::string& path, Visitor& visitor) {
    nn::Met met;
    detail::visit_record(object, path, visitor, met);
  }
  void add(Part part);

  std::vector<Part> parts_;
};

}  // namespace kiln
