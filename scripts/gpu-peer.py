"""What PyTorch does of what ddpsmoke does on one GPU: ResNet-18 with SGD, eagerly.

gpu-peer.py float32|tf32|bf16|fp16 BATCH SIDE STEPS

Prints images/s of the better half of the steps. Batches are made before and sent to the
GPU in each step, from pinned memory, as ddpsmoke sends its own; and as ddpsmoke's,
convolutions give the same bits each time."""
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.past = None
        if stride != 1:
            self.past = nn.Sequential(
                nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        return F.relu(y + (x if self.past is None else self.past(x)), inplace=True)


def resnet18(classes):
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
             nn.MaxPool2d(3, 2, 1)]
    before = 64
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        parts += [Block(before, channels, stride), Block(channels, channels, 1)]
        before = channels
    return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, classes))


def main():
    precision, (batch, side, steps) = sys.argv[1], map(int, sys.argv[2:5])
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.deterministic = True
    small = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
    order = torch.channels_last if small else torch.contiguous_format
    model = resnet18(10).cuda().to(memory_format=order)
    sgd = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-4)
    scaler = torch.amp.GradScaler("cuda", enabled=precision == "fp16")
    images = torch.randn(batch, 3, side, side).contiguous(memory_format=order).pin_memory()
    labels = torch.randint(10, (batch,)).pin_memory()
    took = []
    for _ in range(steps + 5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        x, y = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
        with torch.autocast("cuda", dtype=small or torch.bfloat16, enabled=small is not None):
            loss = F.cross_entropy(model(x), y)
        sgd.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        scaler.step(sgd)
        scaler.update()
        loss.item()
        torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    better = sorted(took[5:])[: max(1, steps // 2)]
    print(round(batch * len(better) / sum(better), 1))


if __name__ == "__main__":
    main()
