// The least program that computes something, to see how long one takes to start and how large it is.
#include <kiln/kiln.hpp>

int main() {
  const kiln::Tensor<1> x = kiln::arange(4.0, kiln::Device::best());
  return (x + x).sum().item() == 12 ? 0 : 1;
}
