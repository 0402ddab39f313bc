#!/usr/bin/env python3
"""What the real accelerate makes of configuration files: a JSON object, by file.

    PYTHON accelerate_real.py FILE...

Everything of accelerate and torchrun runs, up to where processes would begin: there a
stand-in writes down what it was told. {"refused": "..."} where they end before that.
"""
import json
import os
import subprocess
import sys
import types
from unittest import mock

import accelerate
import torch.distributed.launcher.api as api
import torch.distributed.run  # noqa: F401
from accelerate.commands import launch
from accelerate.utils import launch as how

seen = {}


class Begins(BaseException):
    """Nothing was in its way."""


class Agent:
    """In the place of torchrun's: it would meet the others, and start the ranks."""

    def __init__(self, spec, *_, **__):
        handler = spec.rdzv_handler
        if handler.get_backend() != "static":  # torchrun's own, on one machine: any free port
            seen.update(way="torchrun", machines=1, rank=0, each=spec.local_world_size,
                        world=spec.local_world_size, address="127.0.0.1", port=0)
            raise Begins
        seen.update(way="torchrun", machines=handler.world_size, rank=handler.rank,
                    each=spec.local_world_size, world=handler.world_size * spec.local_world_size,
                    address=handler.master_addr, port=handler.master_port,
                    rendezvous=handler.get_backend())
        raise Begins


def popen(cmd, env=None):
    if os.path.basename(cmd[0]) in ("mpirun", "mpiexec", "deepspeed"):
        seen["way"] = os.path.basename(cmd[0])
        return mock.Mock(returncode=0)
    seen["way"] = "one process"
    return subprocess.Popen(cmd, env=env)


def other(name):
    return lambda *_: seen.update(way=name)


def as_installed():
    """What would come from packages that are not here."""
    runner = types.ModuleType("deepspeed.launcher.runner")
    runner.DEEPSPEED_ENVIRONMENT_NAME = os.devnull
    for name in ("deepspeed", "deepspeed.launcher"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["deepspeed.launcher.runner"] = runner
    launch.is_deepspeed_available = lambda: True
    launch.tpu_launcher, launch.tpu_pod_launcher = other("tpu"), other("tpu")
    launch.sagemaker_launcher = other("sagemaker")
    how.is_fp8_available = lambda: True
    how._get_mpirun_args = lambda: ("mpirun", "--hostfile", "-n", "--npernode", "--bind-to")
    free = how.is_port_in_use
    how.is_port_in_use = lambda port: free(port) and False  # whoever else may have it here
    launch.subprocess = mock.Mock(Popen=popen, CalledProcessError=subprocess.CalledProcessError)
    api.LocalElasticAgent = Agent


def ask(file):
    seen.clear()
    args = ["--config_file", file, "--no_python", "/bin/true"]
    try:
        launch.launch_command(launch.launch_command_parser().parse_args(args))
    except Begins:
        pass
    except Exception as e:
        return {"refused": f"{type(e).__name__}: {e}".splitlines()[0]}
    return dict(seen)


as_installed()
json.dump({"version": accelerate.__version__, **{f: ask(f) for f in sys.argv[1:]}}, sys.stdout)
