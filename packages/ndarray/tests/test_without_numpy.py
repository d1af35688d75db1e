"""Files, random numbers, convolution and exchange do not need NumPy: none of it is imported, none of it is there."""

import subprocess
import sys

WORK = """
import io, pickle, sys
sys.modules["numpy"] = None
import treadle.ndarray as nd

generator = nd.random.Generator(0)
x = generator.normal(shape=(2, 3, 8))
weight = generator.truncated_normal(shape=(4, 3, 3))
y = nd.conv(x, weight, padding="same")
nd.conv_input_gradient(y, weight, x.shape, padding="same"), nd.conv_weight_gradient(y, x, weight.shape, padding="same")
values, indices = nd.max_pool(y, 2, padding=1)
nd.max_pool_gradient(values, indices, y.shape)
nd.avg_pool_gradient(nd.avg_pool(y, 2), y.shape, 2)
generator.gamma(0.5, shape=3), generator.beta(1.0, 2.0), generator.poisson(3.0), generator.binomial(5, 0.5)
generator.choice(5, (2,), p=[0.2] * 5), generator.choice(5, (2,), replace=False, p=[0.2] * 5), generator.spawn(2)
generator.exponential(), generator.laplace(), generator.gumbel(), generator.geometric(0.5)
for save in (nd.save, nd.savez, nd.savez_compressed):
    file = io.BytesIO()
    save(file, x.T)
    nd.load(io.BytesIO(file.getvalue()))
assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
assert nd.frombuffer(bytes(8)).tolist() == [0, 0]

class Exporter:
    def __dlpack__(self): return x.__dlpack__()
    def __dlpack_device__(self): return x.__dlpack_device__()

assert nd.from_dlpack(Exporter()).tolist() == nd.asarray(Exporter()).tolist() == x.tolist()
print("done")
"""


def test_without_numpy() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", WORK], capture_output=True, text=True, check=False)
    assert done.stdout == "done\n", done.stderr
