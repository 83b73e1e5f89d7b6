"""Writes torchaudio_figures.json: what torchaudio makes of the sound and the cases in spectra_figures.json, and of a few more, in
float64. Needs torch and torchaudio:  python3 torchaudio_figures.py"""
import json
import pathlib

import torch
import torchaudio
from torchaudio import transforms as T

torch.set_default_dtype(torch.float64)
HERE = pathlib.Path(__file__).parent
STORED = json.loads((HERE / "spectra_figures.json").read_text())
SOUND = torch.tensor(STORED["x"])
MORE = [{"what": "mel", "hop_length": 7, "f_max": 3000.0}, {"what": "mfcc", "n_mfcc": 4, "norm": True, "win_length": 48},
        {"what": "resample", "source": 44100, "target": 16000, "beta": 8.5},
        {"what": "resample", "source": 16000, "target": 11025, "rolloff": 0.8}]


def mel_options(case):
    window = case.get("win_length", 0) or 64
    return {"n_fft": 64, "win_length": window, "hop_length": case.get("hop_length", 0) or window // 2,
            "f_min": case.get("f_min", 0.0), "f_max": case.get("f_max", 0.0) or None, "n_mels": 8,
            "power": case.get("power", 2.0), "center": case.get("center", True),
            "mel_scale": "slaney" if case.get("slaney") else "htk", "norm": "slaney" if case.get("norm") else None}


def made(case):
    if case["what"] == "resample":
        beta = case.get("beta")
        method = {} if beta is None else {"resampling_method": "kaiser_window", "beta": beta}
        return T.Resample(case["source"], case["target"], lowpass_filter_width=case.get("width", 6),
                          rolloff=case.get("rolloff", 0.99), dtype=torch.float64, **method)(SOUND)
    rate = case.get("sample_rate", 16000)
    if case["what"] == "mel":
        return T.MelSpectrogram(sample_rate=rate, **mel_options(case))(SOUND)
    return T.MFCC(sample_rate=rate, n_mfcc=case["n_mfcc"], log_mels=case.get("log_mels", False),
                  melkwargs=mel_options(case))(SOUND)


cases = []
for case in [*STORED["cases"], *MORE]:
    result = made(case)
    cases.append({**case, "shape": list(result.shape), "result": [float(f"{v:.12g}") for v in result.flatten().tolist()]})
lines = ",\n".join(json.dumps(case) for case in cases)
(HERE / "torchaudio_figures.json").write_text(
    f'{{"made_with": "torchaudio {torchaudio.__version__.partition("+")[0]}, torch {torch.__version__.partition("+")[0]}",\n"x": {json.dumps(STORED["x"])},\n'
    f'"cases": [\n{lines}\n]}}\n')
