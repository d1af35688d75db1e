"""What must work where all four packages are installed."""

import treadle.autograd as ag
import treadle.cuda
import treadle.ndarray as nd
from treadle import data, nn, optim

nd.random.manual_seed(0)
digits = data.Digits(train=True)
loader = data.DataLoader(digits, batch_size=64, shuffle=True)
model = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
losses = []
for inputs, targets in loader:
    optimizer.zero_grad()
    loss = criterion(model(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 2, f"the loss went from {losses[0]} to {losses[-1]}"

x = ag.Tensor([1.0, 2.0], requires_grad=True)
(x * x).sum().backward()
assert x.grad is not None and x.grad.numpy().tolist() == [2.0, 4.0]

kernel = nd.ones((40, 40), device="cuda_emulated")
assert nd.sum(kernel @ kernel).item() == 40.0**3
print(f"the full stack: works; a GPU is {'here' if treadle.cuda.is_available() else 'not here'}")
