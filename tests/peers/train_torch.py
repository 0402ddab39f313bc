#!/usr/bin/python3
"""What PyTorch does of what ddpsmoke does: two processes, gloo, the same network,
batch, data and optimiser.   train_torch.py smoke | steps N BATCH | resnet18 RANKS N BATCH
smoke is the least that somebody would write to see whether DDP works: 10 steps.
Prints "SECONDS SAMPLES_PER_S LOSS": of the whole program, of the steps, the last."""
import os
import sys
import time

BEGAN = float(os.environ.get("BEGAN") or time.time())
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import torch.multiprocessing as mp  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 10, 5)
        self.conv2 = nn.Conv2d(10, 20, 5)
        self.fc1 = nn.Linear(320, 50)
        self.fc2 = nn.Linear(50, 10)

    def forward(self, x):
        x = F.relu(F.max_pool2d(self.conv1(x), 2))
        x = F.relu(F.max_pool2d(self.conv2(x), 2))
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def train(rank, ranks, steps, batch, began, resnet):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=os.environ.get("PORT", "29571"))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    if resnet:
        import torchvision
    shape = (3, 96, 96) if resnet else (1, 28, 28)
    model = torchvision.models.resnet18(num_classes=10) if resnet else Net()
    model = DistributedDataParallel(model) if ranks > 1 else model
    sgd = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4)
    made = torch.Generator().manual_seed(100 + rank)
    kinds = torch.randn(10, *shape, generator=torch.Generator().manual_seed(7))
    labels = torch.randint(10, (steps, batch), generator=made)
    noise = torch.randn(batch, *shape, generator=made)
    start = time.perf_counter()
    for y in labels:
        loss = F.cross_entropy(model(kinds[y] + noise), y)
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    rate = ranks * batch * steps / (time.perf_counter() - start)
    own = torch.cat([p.detach().flatten() for p in model.parameters()])
    first = own.clone()
    dist.broadcast(first, 0)
    assert torch.equal(own, first)
    dist.barrier()
    if rank == 0:
        print(f"{time.time() - began:.4f} {rate:.0f} {loss.item():.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    n, size = (10, 32) if sys.argv[1] == "smoke" else map(int, sys.argv[-2:])
    ranks = int(sys.argv[2]) if sys.argv[1] == "resnet18" else 2
    mp.spawn(train, (ranks, n, size, BEGAN, sys.argv[1] == "resnet18"), ranks)
