"""bfloat16 weights and activations: where they save memory, and that float32 copies of the weights keep small steps."""

import treadle.ndarray as nd
from benchmarks.bfloat16 import accuracy, masters, peak, recurrent, transformer
from treadle import nn
from treadle.autograd import Tensor
from treadle.optim import SGD


def test_a_transformers_step_takes_less_memory() -> None:
    shape = (32, 128, 128)
    assert peak(transformer, shape, nd.bfloat16) < 0.95 * peak(transformer, shape, nd.float32)


def test_an_lstms_step_takes_no_more_memory() -> None:
    shape = (32, 32, 64)
    assert peak(recurrent, shape, nd.bfloat16) < peak(recurrent, shape, nd.float32)


def test_it_learns_as_in_float32() -> None:
    reached = accuracy(nd.float32, wide=False, epochs=3)
    assert reached > 0.85
    assert abs(accuracy(nd.bfloat16, wide=True, epochs=3) - reached) < 0.03


def test_small_steps_are_lost_without_copies_and_kept_with_them() -> None:
    """From 1 the next bfloat16 below is 1 - 2**-8: steps of 2**-10 round away, and a hundred of them do not."""
    ended = []
    for wide in (False, True):
        model = nn.Linear(1, 1, bias=False).bfloat16()
        nn.init.ones_(model.weight)
        copies = [nn.Parameter(each.data.astype(nd.float32)) for each in model.parameters()]
        optimizer = SGD(copies if wide else model.parameters(), lr=2.0**-10)
        for _ in range(100):
            model.zero_grad()
            model(Tensor([[1.0]], dtype=nd.bfloat16)).sum().backward()
            if wide:
                with masters(model, copies):
                    optimizer.step()
            else:
                optimizer.step()
        ended.append(model.weight.item())
    assert ended == [1.0, 0.90234375], "1 - 100 / 1024, to the nearest bfloat16"


def test_scores_of_half_width_inputs_are_half_wide_and_float32_inputs_widen_them() -> None:
    model = nn.Linear(2, 3).bfloat16()
    assert model(Tensor([[1.0, 2.0]], dtype=nd.bfloat16)).dtype == nd.bfloat16
    assert model(Tensor([[1.0, 2.0]])).dtype == nd.float32
