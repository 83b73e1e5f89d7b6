// A program that only computes.
#include <kiln/tensor/arithmetic.hpp>
#include <kiln/tensor/create.hpp>
#include <kiln/tensor/text/print.hpp>

int main() {
  const kiln::Tensor<1> x = kiln::arange(4.0, kiln::Device::best());
  kiln::print("{}\n", (x + x).sum().item());
}
