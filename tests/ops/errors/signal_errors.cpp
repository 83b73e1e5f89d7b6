// What wrong calls of transforms and windows are told.
#include <gtest/gtest.h>

#include "kiln/ops/emit.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/signal/signal_ops.hpp"
#include "kiln/ops/signal/stft.hpp"
#include "tests/support/wrong_call.hpp"

namespace kiln {
namespace {

const WrongCall kSignalCalls[] = {
    {"ShapeError: fft: float32 [4] is not complex: that takes floats with a last dimension of size 2",
     [] { fft(floats({4})); }},
    {"ShapeError: irfft: int64 [3, 2] is not complex: that takes floats with a last dimension of size 2",
     [] { irfft(cast(floats({3, 2}), DType::I64)); }},
    {"ArgumentError: rfft: needs a tensor, got 1", [] { rfft(1.0); }},
    {"ArgumentError: fft: needs a tensor, got nothing", [] { fft(Value()); }},
    {"IndexError: rfft: dimension 2 is out of range for rank 2", [] { rfft(floats({3, 4}), {.dim = 2}); }},
    {"IndexError: fft: dimension 1 is out of range for rank 1", [] { fft(floats({3, 2}), {.dim = 1}); }},
    {"ArgumentError: rfft: float32 [3, 0] gives a length of 0 along dimension -1; at least 1 is needed",
     [] { rfft(floats({3, 0})); }},
    {"ArgumentError: irfft: float32 [1, 2] gives a length of 0 along dimension -1; at least 1 is needed",
     [] { irfft(floats({1, 2})); }},
    {"ArgumentError: fft: float32 [4, 2] gives a length of -3 along dimension -1; at least 1 is needed",
     [] { fft(floats({4, 2}), {.n = -3}); }},
    {"ArgumentError: fftn: [3] does not have one size for each of the dimensions [0, 1]",
     [] { fftn(floats({3, 4, 2}), {.sizes = {3}, .dims = {0, 1}}); }},
    {"ShapeError: rfftn: [3, 4] names more sizes than the signal has dimensions: 1",
     [] { rfftn(floats({3}), {.sizes = {3, 4}}); }},
    {"ArgumentError: rfftn: dimension 1 is named twice in [1, -1]", [] { rfftn(floats({3, 4}), {.dims = {1, -1}}); }},
    {"IndexError: fft2: dimension -2 is out of range for rank 1", [] { fft2(floats({3, 2})); }},
    {"ArgumentError: rfftn: there is no dimension to transform", [] { rfftn(floats({})); }},
    {"ArgumentError: dct: there are types 2 and 3, got 4", [] { dct(floats({4}), {.type = 4}); }},
    {"ShapeError: idct: float32 [0] has no elements along dimension -1", [] { idct(floats({0})); }},
    {"ShapeError: complex_mul: float32 [3] is not complex: that takes floats with a last dimension of size 2",
     [] { complex_mul(floats({3}), floats({3, 2})); }},
    {"ArgumentError: stft: n_fft is 0; at least 1 is needed", [] { stft(floats({8}), {.n_fft = 0}); }},
    {"ArgumentError: stft: a hop_length of -2", [] { stft(floats({8}), {.n_fft = 4, .hop_length = -2}); }},
    {"ArgumentError: stft: a win_length of 5 is not between 1 and n_fft, 4",
     [] { stft(floats({8}), {.n_fft = 4, .win_length = 5}); }},
    {"ShapeError: stft: the window float32 [3] must be floats of shape [4]",
     [] { stft(floats({8}), {.n_fft = 4, .window = floats({3})}); }},
    {"ShapeError: stft: float32 [2] is too short to be continued by 2 elements of its mirror image",
     [] { stft(floats({2}), {.n_fft = 4}); }},
    {"ShapeError: stft: float32 [3] is shorter than one frame of 4 elements",
     [] { stft(floats({3}), {.n_fft = 4, .center = false}); }},
    {"ArgumentError: stft: needs a signal [..., time], got float32 []", [] { stft(floats({}), {.n_fft = 4}); }},
    {"ShapeError: istft: needs floats [..., frequency, frame, 2], got float32 [3, 2]",
     [] { istft(floats({3, 2}), {.n_fft = 4}); }},
    {"ShapeError: istft: float32 [4, 5, 2] has 4 frequencies; with n_fft 4 and onesided there are 3",
     [] { istft(floats({4, 5, 2}), {.n_fft = 4}); }},
    {"ShapeError: istft: float32 [3, 0, 2] has no frames", [] { istft(floats({3, 0, 2}), {.n_fft = 4}); }},
    {"ArgumentError: istft: 2 frames give at most 3 elements, not 9",
     [] { istft(floats({3, 2, 2}), {.n_fft = 4, .length = 9}); }},
    {"ShapeError: fft: float32 [3] has 3 elements along dimension 0, not 4",
     [] { emit(op::Fft{op::FftKind::RealToComplex, false, 0, 4}, {floats({3}), 1.0}); }},
    {"ArgumentError: fft: the scale must be a plain number, got float32 [1]",
     [] { emit(op::Fft{op::FftKind::RealToComplex, false, 0, 3}, {floats({3}), floats({1})}); }},
};

TEST(SignalErrors, AreSentences) { expect_sentences(kSignalCalls); }

}  // namespace
}  // namespace kiln
