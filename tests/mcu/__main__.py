"""The sizes and instruction counts of the models on the board, as a table: ``python -m mcu --write``."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import treadle.autograd as ag
from mcu import harness, models
from treadle.autograd.export import SGD, CSource, capture, write_c
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
    rows.append(_by_hand())
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
    for kind, each in (("float32", program), ("int8", exact)):
        written = write_c(each, name)
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
    program = capture(lambda x: made.function(made.weights, x), ag.Tensor(made.inputs[0]), parameters=made.weights)
    written = write_c(program, "byhand")
    arrays = "\n".join(
        f"static const float {name}[] = {{{', '.join(f'{each!r}f' for each in weight.numpy().reshape(-1).tolist())}}};"
        for name, weight in made.weights.items()
    )
    plain = CSource(
        "byhand", f'#include "byhand.h"\n{arrays}\n{LOOP}', written.header, written.constant_bytes,
        written.arena_bytes, 0, written.products, 2, written.arena, written.program,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        run = harness.run(plain, [(x,) for x in made.inputs[:3]], Path(folder))
    return _row("mlp, loops written by hand", "float32", "", plain, run)


if __name__ == "__main__":
    main()
