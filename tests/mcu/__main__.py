"""The sizes and instruction counts of the models on the board, as a table: ``python -m mcu --write``."""

import importlib.metadata
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

import treadle.autograd as ag
from mcu import harness, models
from treadle.autograd.export import SGD, CSource, Target, capture, write_c
from treadle.autograd.export.quantizing import quantized
from treadle.autograd.export.tracing import replay

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "mcu.md"
HEAD = """# Exported models on a Cortex-M7

Printed by `python -m mcu` in the session `mcu`: arm-none-eabi-gcc -O2, run by QEMU on the board mps2-an500.
Instructions are counted by SysTick under `-icount shift=0`, in steps of 40, for one call: they repeat exactly, and are
neither cycles nor milliseconds. Constants, with the first values of what is learned,
and code go to flash, memory (arena, and what is learned) to RAM; bytes.

| model | arithmetic | correct | multiply-accumulates | instructions | constants | code | memory |
|---|---|---|---|---|---|---|---|
"""


def main() -> None:
    """Run every model and print, or write, the table."""
    rows = []
    for name in models.MODELS:
        rows += _inference(name)
        rows.append(_training(name))
    rows += [_by_hand(), *_by_emlearn()]
    table = HEAD + "\n".join(rows) + "\n"
    print(table)
    if "--write" in sys.argv:
        RESULTS.write_text(table)


def _row(name: str, kind: str, correct: str, written: CSource, run: harness.Run) -> str:
    cells = [f"{each:,}" for each in (written.products, run.instructions[-1], run.constants, run.code, run.memory)]
    return f"| {name} | {kind} | {correct} | {' | '.join(cells)} |"


def _inference(name: str) -> list[str]:
    made = models.MODELS[name]()
    program = capture(lambda x: made.function(made.weights, x), ag.Tensor(made.inputs[0]), parameters=made.weights)
    exact, _ = quantized(program, [ag.Tensor(each) for each in made.inputs[-100:]])
    rows = []
    own = Target(math="own")
    for kind, each, target in (("float32", program, None), ("float32, own math", program, own), ("int8", exact, None)):
        written = write_c(each, name, target)
        if target is own and not re.search(r"^static .*\bown_\w+\(", written.source, re.MULTILINE):
            continue  # no function of math.h is called
        with tempfile.TemporaryDirectory() as folder:
            run = harness.run(written, [(x,) for x in made.inputs[:3]], Path(folder))
        hits = sum(
            int(np.argmax(replay(each, [ag.Tensor(x).data])[0].numpy())) == target
            for x, target in zip(made.inputs, made.targets, strict=True)
        )
        rows.append(_row(name, kind, f"{100 * hits / len(made.inputs):.1f} %", written, run))
    return rows


def _training(name: str) -> str:
    made = models.MODELS[name]()
    x, y = np.concatenate(made.inputs[:8]), np.asarray(made.targets[:8], dtype="int64")
    examples = (ag.Tensor(x), ag.Tensor(y))
    program = capture(
        lambda x, y: ag.cross_entropy(made.function(made.weights, x), y),
        examples,
        train=SGD(0.1, momentum=0.9),
        parameters=made.weights,
    )
    written = write_c(program, f"{name}_training")
    with tempfile.TemporaryDirectory() as folder:
        run = harness.run(written, [(x, y)], Path(folder))
    return _row(name, "training step of 8, SGD", "", written, run)


LOOP = """
static void layer(const float *x, const float *w, const float *b, float *y, int inputs, int outputs, int clip)
{
    for (int o = 0; o < outputs; ++o) {
        float sum = b[o];
        for (int i = 0; i < inputs; ++i) {
            sum += w[o * inputs + i] * x[i];
        }
        y[o] = clip && sum < 0.0f ? 0.0f : sum;
    }
}
int byhand(const float *input0, float *output0)
{
    static float hidden[32];
    layer(input0, w1, b1, hidden, 64, 32, 1);
    layer(hidden, w2, b2, output0, 32, 10, 0);
    return 0;
}
"""


def _by_hand() -> str:
    """The loops that one would write for the MLP, for comparison."""
    made = models.MODELS["mlp"]()
    arrays = "\n".join(
        f"static const float {name}[] = {{{', '.join(f'{each!r}f' for each in weight.numpy().reshape(-1).tolist())}}};"
        for name, weight in made.weights.items()
    )
    return _peer(made, "byhand", f"{arrays}\n{LOOP}", "mlp, loops written by hand", harness.WARNINGS)


def _by_emlearn() -> list[str]:
    """What emlearn makes of the same weights; no row where it is not installed."""
    try:
        from emlearn import common, net
    except ModuleNotFoundError:
        print("emlearn is not installed: no row of it")
        return []
    made = models.MODELS["mlp"]()
    w1, b1, w2, b2 = (each.numpy() for each in made.weights.values())
    text = net.c_generate_net_loadable(["relu", "identity"], [w1.T, w2.T], [b1, b2], prefix="peer")
    call = """
int emlearn(const float *input0, float *output0)
{
    if (eml_net_infer(&peer, input0, 64)) return 1;
    for (int i = 0; i < 10; ++i) output0[i] = peer.activations2[i];
    return 0;
}
"""
    flags = ("-std=c99", "-w", "-ffp-contract=off", "-I", common.get_include_dir())
    version = importlib.metadata.version("emlearn")
    return [_peer(made, "emlearn", text + call, f"mlp, emlearn {version}", flags)]


def _peer(made: models.Model, name: str, text: str, label: str, flags: Sequence[str]) -> str:
    """The row of another's C for the MLP, which has to give the same scores."""
    program = capture(lambda x: made.function(made.weights, x), ag.Tensor(made.inputs[0]), parameters=made.weights)
    written = write_c(program, name)
    theirs = replace(written, source=f'#include "{name}.h"\n{text}')
    inputs = made.inputs[:3]
    with tempfile.TemporaryDirectory() as folder:
        run = harness.run(theirs, [(x,) for x in inputs], Path(folder), flags=flags)
    for x, (scores,) in zip(inputs, run.outputs, strict=True):
        np.testing.assert_allclose(scores, made.function(made.weights, ag.Tensor(x)).numpy(), rtol=1e-4, atol=1e-4)
    return _row(label, "float32", "", theirs, run)


if __name__ == "__main__":
    main()
