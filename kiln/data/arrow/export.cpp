#include "kiln/data/arrow/export.hpp"

#include <cerrno>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace arrow {

void export_batch(Builder batch, ArrowSchema* schema, ArrowArray* array) {
  require<ArgumentError>(schema && array, "Arrow: the ", schema ? "array" : "schema",
                         " to export to is a null pointer");
  or_memory_error("an Arrow table", [&] {
    ArrowSchema type{};
    batch.fill(&type);
    try {
      std::move(batch).release_to(array);
    } catch (...) {
      type.release(&type);
      throw;
    }
    *schema = type;
  });
}

namespace {

struct Stream {
  Batches batches;
  std::int64_t at = 0;
  std::string error;
};

/// No exception may pass through the receiver's C: `body` returns or throws, and the stream keeps the sentence.
template <class F>
int guarded(ArrowArrayStream* stream, F&& body) {
  auto& content = *static_cast<Stream*>(stream->private_data);
  try {
    content.error.clear();
    body(content);
    return 0;
  } catch (const std::bad_alloc&) { return ENOMEM; } catch (const std::exception& error) {
    try {
      content.error = error.what();
    } catch (...) {}
    return EIO;
  } catch (...) { return EIO; }
}

int get_schema(ArrowArrayStream* stream, ArrowSchema* out) {
  return guarded(stream, [&](Stream& content) { content.batches.empty().fill(out); });
}

int get_next(ArrowArrayStream* stream, ArrowArray* out) {
  return guarded(stream, [&](Stream& content) {
    const std::int64_t count = std::min(content.batches.at_once, content.batches.size - content.at);
    if (count == 0) {
      *out = ArrowArray{};  // the end
      return;
    }
    content.batches.rows(content.at, count).release_to(out);
    content.at += count;
  });
}

const char* get_last_error(ArrowArrayStream* stream) {
  const auto& error = static_cast<Stream*>(stream->private_data)->error;
  return error.empty() ? nullptr : error.c_str();
}

void release_stream(ArrowArrayStream* stream) {
  delete static_cast<Stream*>(stream->private_data);
  stream->release = nullptr;
}

}  // namespace

void export_batches(Batches batches, ArrowArrayStream* stream) {
  require<ArgumentError>(stream != nullptr, "Arrow: the stream to export to is a null pointer");
  require<ArgumentError>(batches.at_once >= 1, "Arrow: batches of ", batches.at_once, " rows: they have at least one");
  or_memory_error("an Arrow table", [&] {
    stream->private_data = new Stream{std::move(batches), 0, {}};
    stream->get_schema = &get_schema;
    stream->get_next = &get_next;
    stream->get_last_error = &get_last_error;
    stream->release = &release_stream;
  });
}

}  // namespace arrow

void export_arrow(std::vector<ArrowColumn> columns, ArrowSchema* schema, ArrowArray* batch) {
  or_memory_error("an Arrow table", [&] {
    arrow::Builder table("", "+s", false);
    for (ArrowColumn& column : columns) {
      // Borrowed elements stay where they are when the tensor is reshaped.
      const auto owner = std::make_shared<const TensorData>(std::move(column.data));
      arrow::Builder built(column.name, TensorData::lent(owner->shape(), owner->dtype(), owner->bytes(), owner));
      require<ShapeError>(table.children().empty() || built.length() == table.children().front().length(),
                          "Arrow: column '", column.name, "' has ", built.length(), " rows, and column '",
                          columns.front().name, "' has ",
                          table.children().empty() ? 0 : table.children().front().length());
      table.children().push_back(std::move(built));
    }
    if (!columns.empty())
      for (std::int64_t i = 0; i < table.children().front().length(); ++i) table.end_struct();
    arrow::export_batch(std::move(table), schema, batch);
  });
}

}  // namespace kiln
