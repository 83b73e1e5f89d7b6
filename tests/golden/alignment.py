"""Losses of sequences. PyTorch's gradient of ctc_loss is that of scores before log_softmax, so that is what is stored."""
import torch
import torch.nn.functional as F

from golden import case

case("ctc_loss", lambda r: [r.real(6, 2, 4), torch.tensor([[1, 2, 2], [3, 1, 0]]),
                            torch.tensor([6, 5]), torch.tensor([3, 2])],
     lambda x, t, n, m: F.ctc_loss(x.log_softmax(2), t, n, m))
case("ctc_loss.sum", lambda r: [r.real(5, 2, 3), torch.tensor([[1, 2], [1, 1]]), torch.tensor([5, 4]),
                                torch.tensor([2, 2])],
     lambda x, t, n, m: F.ctc_loss(x.log_softmax(2), t, n, m, reduction="sum"))
