"""The benchmark runner, over contenders whose speeds are known; and that every area's cases can be prepared."""

import importlib
import json
import os
import pkgutil
import subprocess
import sys
import time
import timeit
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import fake_contenders
from benchmarks import areas
from benchmarks.__main__ import select
from benchmarks.case import Case, Goal, Statement
from benchmarks.chart import chart
from benchmarks.machine import warnings
from benchmarks.rows import Row, Spread, markdown, quantity
from benchmarks.runner import Worker, Workers, environment, measure

ROOT = Path(__file__).parent.parent
FAKES = {case.name: case for case in fake_contenders.CASES}
AREAS = sorted(module.name for module in pkgutil.iter_modules(areas.__path__))


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """The workers import the benchmarks, and the fakes beside this file, wherever pytest was started."""
    monkeypatch.chdir(ROOT)
    known = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, known)))


@pytest.fixture
def workers() -> Iterator[Workers]:
    with Workers() as running:
        yield running


def measured(workers: Workers, name: str, rounds: int = 3) -> Row:
    row = measure(workers, "fake_contenders", FAKES[name], rounds=rounds, seconds=0.002)
    assert row is not None
    return row


def row_of(speeds: dict[str, Spread], *goals: Goal, missing: tuple[str, ...] = ()) -> Row:
    return Row("area", "work", 1, "s", {"treadle": 1.0}, speeds, goals, missing)


def even(speed: float) -> Spread:
    return Spread(speed, speed, speed, speed)


def test_speed_is_the_peers_time_over_ours(workers: Workers) -> None:
    row = measured(workers, "constants")
    assert row.values == {"treadle": 2.0, "numpy": 6.0, "torch": 3.0}
    assert row.speeds == {"numpy": even(3.0), "torch": even(1.5)}
    assert row.reached is True


def test_the_better_of_both_is_the_faster_peer(workers: Workers) -> None:
    row = measured(workers, "slower than one")
    assert row.speeds["numpy"].median == 3.0 and row.speeds["torch"].median == 0.5
    assert row.reached is False


def test_a_missing_peer_leaves_the_better_of_both_open(workers: Workers) -> None:
    row = measured(workers, "one is missing")
    assert row.missing == ("torch",) and row.reached is None and row.marker == "open"


@pytest.mark.parametrize(
    ("speeds", "goal", "missing", "expected"),
    [
        ({"numpy": even(1.0)}, Goal("numpy", 1.0), (), True),
        ({"numpy": even(0.99)}, Goal("numpy", 1.0), (), False),
        ({"numpy": even(2.0)}, Goal("torch", 1.0), ("torch",), None),
        ({"numpy": even(2.0), "torch": even(1.1)}, Goal("best", 1.0), (), True),
        ({"numpy": even(0.9), "torch": even(1.1)}, Goal("best", 1.0), (), False),
        ({"numpy": even(0.9)}, Goal("best", 1.0), ("torch",), False),
        ({"numpy": even(1.1)}, Goal("best", 1.0), ("torch",), None),
        ({}, Goal("best", 1.0), ("numpy", "torch"), None),
    ],
)
def test_goals(speeds: dict[str, Spread], goal: Goal, missing: tuple[str, ...], expected: bool | None) -> None:
    assert row_of(speeds, goal, missing=missing).reached is expected


def test_one_missed_goal_of_two_is_a_miss() -> None:
    speeds = {"numpy": even(4.0), "torch": even(1.2)}
    assert row_of(speeds, Goal("numpy", 3.0), Goal("torch", 1.5)).marker == "**no**"
    assert row_of(speeds, Goal("numpy", 3.0)).marker == "yes"
    assert row_of(speeds).marker == ""


def test_a_limit_is_on_treadles_own_value(workers: Workers) -> None:
    row = measured(workers, "over its limit")
    assert row.reached is False
    assert "2 MB" in row.cells() and "<= 1 MB" in row.cells()


def test_what_is_not_there_gives_no_row(workers: Workers) -> None:
    assert measure(workers, "fake_contenders", FAKES["treadle is missing"], rounds=1, seconds=0.001) is None


def test_only_the_peers_that_were_asked_for(workers: Workers) -> None:
    row = measure(workers, "fake_contenders", FAKES["constants"], rounds=1, seconds=0.001, peers={"torch"})
    assert row is not None and set(row.speeds) == {"torch"}


def test_a_longer_sleep_is_slower(workers: Workers) -> None:
    row = measured(workers, "sleep")
    assert row.values["treadle"] >= 0.001 and row.values["numpy"] >= 0.02
    assert row.speeds["numpy"].median > 1.0


def state_of(process: int) -> str:
    """The letter of a process's state, as ``ps`` shows it; empty when it is gone."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def becomes(process: int, states: tuple[str, ...]) -> bool:
    """Whether a process comes into one of the states within half a minute."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc")
    ends = time.monotonic() + 30
    while state_of(process) not in states and time.monotonic() < ends:
        time.sleep(0.02)
    return state_of(process) in states


def test_workers_are_stopped_between_their_bursts(workers: Workers) -> None:
    worker = workers.get("treadle", 1)
    worker.burst("fake_contenders", "constants", 0.001)
    assert becomes(worker._process.pid, ("T",))
    burst = worker.burst("fake_contenders", "constants", 0.001)
    assert burst is not None and burst.value == 2.0


def test_a_stopped_worker_ends_with_its_runner() -> None:
    code = (
        "import os; from benchmarks.runner import Worker; worker = Worker('treadle', 1);"
        "worker.burst('fake_contenders', 'constants', 0.001); print(worker._process.pid, flush=True); os._exit(0)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert becomes(int(done.stdout), ("", "Z"))


def test_a_busy_machine_is_told_in_rows_of_two_threads() -> None:
    row = row_of({"numpy": even(2.0)}, Goal("numpy", 1.0))
    assert replace(row, preempted=1000.0).marker == "yes"
    assert replace(row, preempted=1000.0, threads=2).marker == "yes, busy"
    assert replace(row, preempted=0.0, threads=2).marker == "yes"


def test_slow_rows_take_fewer_rounds(workers: Workers) -> None:
    asked: list[str] = []

    class Counted(Workers):
        def get(self, library: str, threads: int) -> Worker:
            asked.append(library)
            return workers.get(library, threads)

    measure(Counted(), "fake_contenders", FAKES["constants"], rounds=50, seconds=0.001, longest=0.0)
    assert asked.count("treadle") == 4  # the first to warm up


def test_threads_and_settings_of_a_worker(workers: Workers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    monkeypatch.setenv("OPENBLAS_L2_SIZE", "1024")
    assert measured(workers, "threads").values == {"treadle": 2.0, "numpy": 2.0}
    assert measured(workers, "settings").values == {"treadle": 0.0}
    seen = environment(2)
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "TREADLE_NUM_THREADS"):
        assert seen[name] == "2"


def test_an_error_in_a_worker_is_an_error(workers: Workers, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="failing"):
        measured(workers, "failing")
    assert "on purpose" in capfd.readouterr().err


def test_the_spread_is_that_of_the_rounds() -> None:
    spread = Spread.of([float(each) for each in range(1, 12)], [1.0] * 10 + [0.5])
    assert (spread.low, spread.median, spread.high, spread.best) == (2.0, 6.0, 10.0, 2.0)
    assert Spread.of([3.0], [1.0]) == even(3.0)
    assert str(spread) == "6.00x (2.00-10.00, best 2.00)"


def test_rows_come_back_from_their_record() -> None:
    row = row_of({"numpy": Spread(1.0, 2.0, 3.0, 2.0)}, Goal("numpy", 1.5), missing=("torch",))
    assert Row.from_dict(json.loads(json.dumps(row.as_dict()))) == row


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [(2.0, "s", "2 s"), (0.0123, "s", "12.3 ms"), (4.5e-6, "s", "4.5 us"), (7e-8, "s", "70 ns"), (1.234, "x", "1.23x"),
     (2.5, "MB", "2.5 MB"), (None, "s", "")],
)  # fmt: skip
def test_quantities(value: float | None, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


def test_the_table_has_every_row_and_note_once() -> None:
    rows = [Row("area", f"work {i}", 1, "s", {"treadle": 1.0}, {}, note="the note") for i in range(3)]
    text = markdown(rows)
    assert len([line for line in text.splitlines() if line.startswith("|")]) == 5
    assert text.count("the note") == 1


def test_rows_are_selected_by_area_text_and_threads() -> None:
    chosen = [case for _, case in select(["calls", "matmul"], ["a + b", "matmul: a @ b, 64 x 64 float32"], 8)]
    assert [case.name for case in chosen] == ["a + b, 16 float32", "a @ b, 64 x 64 float32"]
    assert all(case.threads == 1 for _, case in select(AREAS, [], 1))
    assert any(case.threads == 2 for _, case in select(AREAS, [], 2))


def test_a_busy_machine_is_told() -> None:
    quiet = {"load": 0.0, "niceness": 0, "cpus": 8}
    assert warnings(quiet) == []
    assert len(warnings({"load": 4.0, "niceness": 10, "cpus": 1})) == 3


@pytest.mark.parametrize("area", AREAS)
def test_names_are_unique_and_goals_name_peers(area: str) -> None:
    cases: list[Case] = importlib.import_module(f"benchmarks.areas.{area}").CASES
    assert len({case.name for case in cases}) == len(cases)
    for case in cases:
        assert "treadle" in case.contenders
        assert {goal.peer for goal in case.goals} <= {*case.peers, "best"}, case.name


SMALL = ("calls", "functions", "elementwise", "normalisation", "training")
"""Areas whose cases are prepared here: the others draw large matrices. Their code is the same helper's."""


@pytest.mark.parametrize("peer", ["treadle", "numpy"])
@pytest.mark.parametrize("area", SMALL)
def test_cases_run(area: str, peer: str) -> None:
    cases: list[Case] = importlib.import_module(f"benchmarks.areas.{area}").CASES
    for case in cases:
        if case.threads > 1 or "1e7" in case.name or peer not in case.contenders:
            continue
        try:
            work = case.contenders[peer]()
        except ImportError:
            continue
        if not isinstance(work, Statement):  # it starts processes of its own
            continue
        timeit.Timer(work.text, globals=dict(work.names)).timeit(1)


def test_the_command_lists_its_rows() -> None:
    command = [sys.executable, "-m", "benchmarks", "--list", "calls", "-k", "reshape"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["calls: a.reshape(4, 4), 16 float32"]


def test_the_chart_has_a_bar_for_each_speed() -> None:
    rows = [row_of({"numpy": Spread(1.0, 2.0, 3.0, 2.0), "torch": even(0.5)}, Goal("numpy", 1.5)), row_of({})]
    drawn = chart(rows, "a machine")
    assert drawn.startswith("<svg") and drawn.count('class="bar') == 2
    assert "a machine" in drawn and "work" in drawn
