// Graphs of products, reductions and elementwise operations as fake_cudnn computes them: one operation after the other, in
// doubles.
#pragma once
#include <memory>

#include "tests/backend/cuda/fake_descriptor.hpp"

namespace kiln::test {

/// Is it one of these operations?
bool is_general(const Descriptor& operation);
/// Do sizes, types and numbers of such an operation belong together?
bool is_sound_general(const Descriptor& operation);
/// Is what each operation reads either in memory or made by one before it?
bool is_sound_graph(const std::vector<Descriptor*>& operations);

struct GraphJob {
  virtual ~GraphJob() = default;
  virtual void run() = 0;
};
/// A graph with the places of a variant pack. Null where something has no place, or lies at one that is not aligned.
std::unique_ptr<GraphJob> job_of(const std::vector<Descriptor*>& operations, const Descriptor& pack);

}  // namespace kiln::test
