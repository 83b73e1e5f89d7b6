#include "kiln/train/recorded.hpp"

namespace kiln {

void RecordedObjects::add(Part part) {
  for (const Part& other : parts_)
    require<ArgumentError>(part.path != other.path, "training: there are two things called '", part.path, '\'');
  parts_.push_back(std::move(part));
}

void RecordedObjects::visit(detail::RecordVisitor& visitor) const {
  for (const Part& part : parts_) {
    nn::Met met;
    part.visit(part.object, part.path, visitor, met);
  }
}

TensorSource RecordedObjects::snapshot(Metadata metadata) const {
  TensorSource record;
  record.metadata = std::move(metadata);
  detail::RecordWriter writer(record);
  visit(writer);
  return record;
}

void RecordedObjects::restore(const TensorSource& record, std::string_view file, const LoadOptions& options) {
  detail::RecordReader reader(record, file, options);
  visit(reader);
  const detail::Fitted fitted = reader.fit();
  detail::RecordTaker taker(record, file, options, fitted.values);
  visit(taker);
}

}  // namespace kiln
