#include "kiln/train/recorded.hpp"

namespace kiln {

void RecordedObjects::add(Part part) {
  for (const Part& other : parts_)
    require<ArgumentError>(part.path != other.path, "training: there are two things called '", part.path, '\'');
  parts_.push_back(std::move(part));
}

TensorSource RecordedObjects::snapshot(Metadata metadata) const {
  TensorSource record;
  record.metadata = std::move(metadata);
  detail::RecordWriter writer{record};
  for (const Part& part : parts_) part.write(writer);
  return record;
}

void RecordedObjects::restore(const TensorSource& record, std::string_view file) {
  detail::RecordReader reader(record, file);
  for (const Part& part : parts_) part.read(reader);
  const detail::Fitted fitted = detail::fit_record(reader, {});
  detail::RecordTaker taker{record, file, fitted.values};
  for (const Part& part : parts_) part.take(taker);
}

}  // namespace kiln
