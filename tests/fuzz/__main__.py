"""Many programs, with a progress bar: ``python -m fuzz --programs 10000 --seed 1 --device cpu``.

Program k of a run is that of the number seed + k, so that a failing one can be run alone.
"""

import argparse
import random
import sys

from tqdm import tqdm

from fuzz.programs import run

MOST_FAILURES = 10


def main() -> int:
    """The number of programs that failed, at most 1 as an exit status."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="chosen, and printed, if none is given")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if options.seed is None else options.seed
    print(f"{options.programs} programs on {options.device}, seed {seed}", flush=True)
    failures = 0
    for number in tqdm(range(seed, seed + options.programs), unit="program"):
        failure = run(number, options.device)
        if failure is not None:
            failures += 1
            tqdm.write(f"{failure}\n", file=sys.stdout)
        if failures >= MOST_FAILURES:
            break
    print(f"{failures} failures")
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main())
