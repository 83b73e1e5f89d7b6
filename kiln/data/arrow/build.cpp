#include "kiln/data/arrow/build.hpp"

#include <cstring>
#include <limits>
#include <memory>

#include "kiln/core/error/error.hpp"
#include "kiln/data/arrow/field.hpp"

namespace kiln::arrow {
namespace {

void set_bit(std::vector<std::uint8_t>& bits, std::int64_t at, bool bit) {
  if (at % 8 == 0) bits.push_back(0);
  bits.back() = static_cast<std::uint8_t>(bits.back() | static_cast<unsigned>(bit) << (at % 8));
}

std::size_t width_of(std::string_view format) {
  if (format == "U" || format == "Z" || format == "+L") return 8;
  if (format == "+m") return 4;
  if (format.size() != 1 || format == "b") return 0;
  switch (format[0]) {
    case 'c':
    case 'C': return 1;
    case 's':
    case 'S':
    case 'e': return 2;
    case 'i':
    case 'I':
    case 'f': return 4;
    default: return 8;
  }
}

bool has_offsets(std::string_view format) { return format == "U" || format == "Z" || format == "+L" || format == "+m"; }

std::string format_of_elements(DType dtype) {
  switch (dtype) {
    case DType::F64: return "g";
    case DType::F32: return "f";
    case DType::F16: return "e";
    case DType::I64: return "l";
    case DType::I32: return "i";
    case DType::I16: return "s";
    case DType::I8: return "c";
    case DType::U64: return "L";
    case DType::U32: return "I";
    case DType::U16: return "S";
    case DType::U8: return "C";
    case DType::Bool: return "b";
    case DType::BF16: break;
  }
  fail<DTypeError>("Arrow: has no type for ", name(dtype), ": convert the tensor to float32");
}

}  // namespace

Builder::Builder(std::string name, std::string format, bool may_be_null)
    : name_(std::move(name)), format_(std::move(format)), may_be_null_(may_be_null), width_(width_of(format_)) {
  if (has_offsets(format_)) data_.resize(width_);
}

Builder::Builder(std::string name, TensorData tensor)
    : name_(std::move(name)), format_(format_of_elements(tensor.dtype())), may_be_null_(false) {
  const Shape shape = tensor.shape();
  require<ShapeError>(!shape.empty(), "Arrow: column '", name_,
                      "' is a tensor without dimensions, and rows are the first");
  length_ = shape[0];
  if (shape.size() > 1) {
    Shape items{shape[0] * shape[1]};
    for (int i = 2; i < static_cast<int>(shape.size()); ++i) items.push_back(shape[i]);
    format_ = text("+w:", shape[1]);
    children_.emplace_back("item", tensor.reshaped(items));
  } else if (tensor.dtype() == DType::Bool) {
    length_ = 0;
    for (const bool bit : tensor.as<bool>()) add_bit(bit);
  } else {
    tensor_.push_back(std::move(tensor));
  }
}

void Builder::add_validity(bool valid) {
  set_bit(validity_, length_, valid);
  nulls_ += !valid;
  ++length_;
}

void Builder::add_bit(bool bit) {
  if (bits_ % 8 == 0) data_.push_back(std::byte{0});
  data_.back() |= static_cast<std::byte>(static_cast<unsigned>(bit) << (bits_ % 8));
  ++bits_;
  add_validity(true);
}

void Builder::add_element(std::span<const std::byte> bytes) {
  data_.insert(data_.end(), bytes.begin(), bytes.end());
  add_validity(true);
}

void Builder::end_offset(std::size_t end) {
  require<DataError>(width_ == 8 || end <= static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
                     "Arrow: column '", name_, "' has more than 2^31 entries of maps in one batch: write smaller ones");
  const std::size_t at = data_.size();
  data_.resize(at + width_);
  std::memcpy(data_.data() + at, &end, width_);  // lowest byte first, as the machine has them (column.cpp)
}

void Builder::add_text(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  end_offset(bytes_.size());
  add_validity(true);
}

void Builder::end_list() {
  end_offset(static_cast<std::size_t>(children_.front().length_));
  add_validity(true);
}

void Builder::add_null() {
  add_nothing();
  add_validity(false);
}

/// The place of an element that nobody reads.
void Builder::add_nothing() {
  if (format_ == "b") {
    if (bits_++ % 8 == 0) data_.push_back(std::byte{0});
  } else if (format_ == "U" || format_ == "Z") {
    end_offset(bytes_.size());
  } else if (format_ == "+L" || format_ == "+m") {
    end_offset(static_cast<std::size_t>(children_.front().length_));
  } else if (format_ == "+s") {
    for (Builder& child : children_) {
      child.add_nothing();
      child.add_validity(!child.may_be_null_);
    }
  } else {
    data_.resize(data_.size() + width_);
  }
}

namespace {

/// The private_data of a schema.
struct SchemaContent {
  std::string name, format;
  std::vector<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

template <class Struct, class Content>
void release(Struct* released) {
  const std::unique_ptr<Content> content(static_cast<Content*>(released->private_data));
  // A child that the consumer moved away has no release any more.
  for (std::int64_t i = 0; i < released->n_children; ++i)
    if (released->children[i]->release) released->children[i]->release(released->children[i]);
  released->release = nullptr;
}

}  // namespace

struct Builder::Buffers {
  Builder column;
  std::vector<const void*> buffers;
  std::vector<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

void Builder::fill(ArrowSchema* out) const {
  auto content = std::make_unique<SchemaContent>();
  content->name = name_;
  content->format = format_;
  content->children.resize(children_.size());
  for (ArrowSchema& child : content->children) content->pointers.push_back(&child);
  ArrowSchema schema{};
  schema.format = content->format.c_str();
  schema.name = content->name.c_str();
  schema.flags = may_be_null_ ? ARROW_FLAG_NULLABLE : 0;
  schema.n_children = std::ssize(children_);
  schema.children = content->pointers.data();
  schema.release = &release<ArrowSchema, SchemaContent>;
  schema.private_data = content.get();
  try {
    for (std::size_t i = 0; i < children_.size(); ++i) children_[i].fill(&content->children[i]);
  } catch (...) {
    static_cast<void>(content.release());
    schema.release(&schema);
    throw;
  }
  static_cast<void>(content.release());
  *out = schema;
}

void Builder::release_to(ArrowArray* out) && {
  auto content = std::make_unique<Buffers>(Buffers{std::move(*this), {}, {}, {}});
  Builder& column = content->column;
  content->buffers.push_back(column.nulls_ > 0 ? column.validity_.data() : nullptr);
  if (column.format_ != "+s" && !column.format_.starts_with("+w")) {
    const std::span<const std::byte> data = column.tensor_.empty() ? std::span<const std::byte>(column.data_)
                                                                   : std::as_const(column.tensor_.front()).bytes();
    content->buffers.push_back(data.data());
  }
  if (column.format_ == "U" || column.format_ == "Z") content->buffers.push_back(column.bytes_.data());
  content->children.resize(column.children_.size());
  for (ArrowArray& child : content->children) content->pointers.push_back(&child);
  ArrowArray array{};
  array.length = column.length_;
  array.null_count = column.nulls_;
  array.n_buffers = std::ssize(content->buffers);
  array.buffers = content->buffers.data();
  array.n_children = std::ssize(content->children);
  array.children = content->pointers.data();
  array.release = &release<ArrowArray, Buffers>;
  array.private_data = content.get();
  try {
    for (std::size_t i = 0; i < column.children_.size(); ++i)
      std::move(column.children_[i]).release_to(&content->children[i]);
  } catch (...) {
    static_cast<void>(content.release());
    array.release(&array);
    throw;
  }
  static_cast<void>(content.release());
  *out = array;
}

}  // namespace kiln::arrow
