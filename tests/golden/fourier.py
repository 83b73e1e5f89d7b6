"""Fourier and cosine transforms, windows. A complex tensor has a last dimension of 2."""
import numpy as np
import scipy.fft
import scipy.signal
import torch

from golden import case, other


def z(x):
    return torch.view_as_complex(x.contiguous())


for n in (8, 15, 17):  # a power of two, a product of others, a prime
    case(f"fft.{n}", lambda r: r.real(n, 2), lambda x: torch.fft.fft(z(x)))
    case(f"rfft.{n}", lambda r: r.real(n), torch.fft.rfft)
for norm in ("backward", "ortho", "forward"):
    case(f"fft.{norm}", lambda r: r.real(2, 6, 2), lambda x: torch.fft.fft(z(x), norm=norm))
    case(f"ifft.{norm}", lambda r: r.real(2, 6, 2), lambda x: torch.fft.ifft(z(x), norm=norm))
case("fft.cropped", lambda r: r.real(3, 7, 2), lambda x: torch.fft.fft(z(x), n=5, dim=0))
case("rfft.padded", lambda r: r.real(2, 5), lambda x: torch.fft.rfft(x, n=8))
case("irfft", lambda r: r.real(5, 2), lambda x: torch.fft.irfft(z(x)))
case("irfft.odd", lambda r: r.real(5, 2), lambda x: torch.fft.irfft(z(x), n=9))
case("fft2", lambda r: r.real(3, 4, 2), lambda x: torch.fft.fft2(z(x)))
case("ifft2", lambda r: r.real(3, 4, 2), lambda x: torch.fft.ifft2(z(x)))
case("rfft2", lambda r: r.real(3, 5), torch.fft.rfft2)
case("irfft2", lambda r: r.real(3, 3, 2), lambda x: torch.fft.irfft2(z(x)))
case("fftn", lambda r: r.real(2, 3, 4, 2), lambda x: torch.fft.fftn(z(x)))
case("fftshift", lambda r: r.real(5, 4), torch.fft.fftshift)
case("ifftshift", lambda r: r.real(5, 4), torch.fft.ifftshift)
case("fftfreq", lambda r: [], lambda: torch.fft.fftfreq(7, 0.5))
case("rfftfreq", lambda r: [], lambda: torch.fft.rfftfreq(8, 0.5))
case("complex_abs", lambda r: r.real(5, 2), lambda x: z(x).abs())
case("angle", lambda r: r.real(5, 2), lambda x: z(x).angle())
case("complex_mul", lambda r: [r.real(5, 2), r.real(5, 2)], lambda x, y: z(x) * z(y))
case("polar", lambda r: [r.real(5, low=0.5, high=2), r.real(5)], torch.polar)
other("dct", lambda r: r.real(3, 7), lambda x: scipy.fft.dct(x))
other("dct.ortho", lambda r: r.real(3, 8), lambda x: scipy.fft.dct(x, norm="ortho"))
other("dct.3", lambda r: r.real(3, 7), lambda x: scipy.fft.dct(x, type=3))
other("idct", lambda r: r.real(3, 7), lambda x: scipy.fft.idct(x))
other("hilbert", lambda r: r.real(9), scipy.signal.hilbert)
WINDOW = torch.hann_window(8)
case("stft", lambda r: r.real(2, 24), lambda x: torch.stft(x, 8, 2, window=WINDOW, return_complex=True))
case("stft.plain", lambda r: r.real(20), lambda x: torch.stft(x, 8, 4, center=False, normalized=True, onesided=False,
                                                              window=torch.ones(8), return_complex=True))
case("stft.short_window", lambda r: r.real(20), lambda x: torch.stft(x, 8, 3, 6, window=torch.hann_window(6),
                                                                     pad_mode="constant", return_complex=True))
case("istft", lambda r: r.real(5, 7, 2), lambda x: torch.istft(z(x), 8, 2, window=WINDOW))
for name in ("hann", "hamming", "blackman", "bartlett"):
    case(f"{name}_window", lambda r: [], lambda: getattr(torch, f"{name}_window")(7))
    case(f"{name}_window.symmetric", lambda r: [], lambda: getattr(torch, f"{name}_window")(8, periodic=False))
case("kaiser_window", lambda r: [], lambda: torch.kaiser_window(9, True, 6.0))
case("gaussian_window", lambda r: [], lambda: torch.signal.windows.gaussian(9, std=1.5))
