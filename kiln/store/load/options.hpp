// How a file is loaded into a model that was not saved from it, and the report of what happened.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kiln/nn/module/selector.hpp"
#include "kiln/store/format/edit.hpp"

namespace kiln {

/// Whether a loaded float tensor gets the element type of the object or of the file.
enum class FloatPolicy : std::uint8_t { AsObject, AsFile };

struct LoadOptions {
  bool allow_unexpected = false;  // the file may contain tensors that the object does not have
  bool allow_missing = false;     // tensors that the file lacks keep the object's values
  bool allow_mismatched = false;  // and so do those that have another shape or kind there
  FloatPolicy floats = FloatPolicy::AsObject;

  // These edits are applied to the file's tensors, in this order, before they are compared with the object's.
  std::string under = {};               // selects the tensors below this key, and removes it: "model", "state_dict"
  bool pytorch_layers = false;          // with_pytorch_layers(): translates PyTorch's names of LSTM, attention, ...
  std::vector<TensorSplit> split = {};  // splits one tensor into several of the object's
  std::vector<Rename> rename = {};      // for example norm_names()
  bool close_gaps = false;              // renumbered()
  // Adds tensors under further names: {{"head.weight", "embedding.weight"}} if the model has two parameters where the
  // file has one tied parameter. A tensor that the file already has under such a name stays.
  std::map<std::string, std::string> aliases = {};
  // The object's parts that are loaded; the others stay as they are, whether the file contains them or not. Tensors
  // that are in the file alone are selected by name, and are not unexpected if they are not selected.
  Selector only = Selector::all();
  Selector except = Selector::none();
  std::vector<Layout> layouts = {};  // transposed_linear(), from_hwio(), ...

  /// So many elements of each float tensor are checked; NaN and infinities give a warning. Checking all of them (-1)
  /// reads a mapped file completely.
  std::int64_t check_elements = 1 << 12;
};

/// What load() has done, name by name.
struct LoadReport {
  std::vector<std::string> loaded;      // names of the object's parts
  std::vector<std::string> missing;     // "'head.weight' is missing (did you mean 'fc.weight'?)"
  std::vector<std::string> mismatched;  // "tensor 'w' has shape [2, 3], the module expects [2, 4]"
  std::vector<std::string> unused;      // names in the file, after renaming
  std::vector<std::string> warnings;    // "tensor 'w' holds NaN"

  /// Returns whether everything in the file and in the object was loaded.
  bool complete() const { return missing.empty() && mismatched.empty() && unused.empty(); }
};

/// Appends "61 loaded; 'head.weight' is missing; ...", one line each.
void append(std::string& out, const LoadReport& report);

/// Returns whether `options` select it to be loaded.
bool wants(const LoadOptions& options, const Candidate& candidate);
bool wants(const LoadOptions& options, std::string_view path);

/// Applies the edits of `options` to the file's tensors, for load(). Throws ArgumentError or DataError as described in
/// kiln/store/format/edit.hpp.
TensorSource edited(TensorSource source, const LoadOptions& options, std::string_view file);

}  // namespace kiln
