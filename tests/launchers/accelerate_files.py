#!/usr/bin/env python3
"""ifprobe --check --accelerate beside the real accelerate, on files that are made here.

    accelerate_files.py PYTHON-OF-ACCELERATE

Another accelerate than that Python's own is the one on PYTHONPATH, with its dist-info beside it:
both sides take that.

Each says of each file whether a launch is refused, and if not who starts how many processes on
this machine, as which machine, and where they meet. Exit 1: they disagree, and about what.
"""
import json
import os
import random
import subprocess
import sys
import yaml

TWO = {"compute_environment": "LOCAL_MACHINE", "debug": False, "distributed_type": "MULTI_GPU",
       "downcast_bf16": "no", "enable_cpu_affinity": False, "gpu_ids": "all", "machine_rank": 0,
       "main_process_ip": "127.0.0.1", "main_process_port": 29517, "main_training_function": "main",
       "mixed_precision": "bf16", "num_machines": 2, "num_processes": 16, "rdzv_backend": "static",
       "same_network": True, "tpu_env": [], "tpu_use_cluster": False, "tpu_use_sudo": False,
       "use_cpu": False}
MANY = ["MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU",
        "MULTI_NEURON"]
FSDP = {"fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP", "fsdp_cpu_ram_efficient_loading": True,
        "fsdp_sync_module_states": True, "fsdp_version": 1}
BASES = [{}, {"num_machines": 1}, {"num_machines": 1, "num_processes": 2, "gpu_ids": "0,1"},
         {"machine_rank": 1}, {"distributed_type": "NO", "num_machines": 1, "num_processes": 1},
         {"distributed_type": "NO"}, {"distributed_type": "MULTI_CPU", "use_cpu": True},
         {"distributed_type": "MULTI_CPU", "num_machines": 1, "num_processes": 4},
         {"distributed_type": "MULTI_CPU", "mpirun_config": {"mpirun_hostfile": "/root/hosts"}},
         {"distributed_type": "FSDP", "fsdp_config": FSDP},
         {"distributed_type": "FSDP", "fsdp_config": {**FSDP, "fsdp_version": 2},
          "parallelism_config": {"parallelism_config_tp_size": 2}},
         {"distributed_type": "MEGATRON_LM", "megatron_lm_config": {"megatron_lm_tp_degree": 2}},
         {"distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": 2}},
         {"distributed_type": "DEEPSPEED", "deepspeed_config":
          {"deepspeed_multinode_launcher": "standard", "zero_stage": 3}},
         {"distributed_type": "DEEPSPEED", "num_machines": 1},
         {"distributed_type": "XLA", "num_machines": 1},
         {"mixed_precision": "fp8", "fp8_config": {"fp8_backend": "TE", "fp8_format": "HYBRID"}},
         {"dynamo_config": {"dynamo_backend": "INDUCTOR", "dynamo_mode": "default"}}]
OMIT = "omit"
CHANGES = {  # what people write there, and what older versions did
    "compute_environment": [OMIT, "AMAZON_SAGEMAKER", "MY_CLUSTER", None],
    "distributed_type": [OMIT, False, None, "TPU", "multi_gpu", "MULTI_GPUS", "TP", *MANY],
    "num_processes": [OMIT, -1, 0, 1, 3, 5, "8", None, 8.0, True, -4, "eight"],
    "num_machines": [OMIT, 0, 1, 2, 3, 16, 17, "2", None, 2.0, True, "two"],
    "machine_rank": [OMIT, 0, 1, 2, "1", "0", None, "x", 1.5, True],
    "main_process_ip": [OMIT, None, "127.0.0.1", "::1", "[::1]", "a b", " 127.0.0.1", "", "http://h",
                        "127.0.0.1:29500", "node-0.x", 12, "'q'", "é"],
    "main_process_port": [OMIT, None, 0, 1023, 29517, "29517", 65535, 65536, 80000, -1, 29517.0, "x"],
    "gpu_ids": [OMIT, None, "0", 0, "0,1", "all", "", [0, 1]],
    "mixed_precision": [OMIT, None, False, "no", "fp16", "FP16", "bf8", "fp32", "", 16],
    "use_cpu": [OMIT, None, True, False, "yes", "maybe", 1, 0],
    "rdzv_backend": [OMIT, None, "c10d", "etcd"],
    "same_network": [OMIT, None, False],
    "debug": [OMIT, True, None],
    "downcast_bf16": [OMIT, True, None],
    "dynamo_config": [None, {}, {"dynamo_backend": "EAGER"}, {"dynamo_backend": False},
                      {"backend": "nothing"}, {"dynamo_backend": "Inductor"}],
    "fsdp_config": [None, {}, {**FSDP, "fsdp_sync_module_states": False},
                    {**FSDP, "fsdp_cpu_ram_efficient_loading": False, "fsdp_sync_module_states": False}],
    "mpirun_config": [None, {}, {"mpirun_hostfile": "/root/hosts", "mpirun_ccl": "1"}],
    "fp16": [True, False], "dynamo_backend": ["NO", "INDUCTOR", False],  # converted
    "ipex_config": [{"ipex": True}], "deepspeed_hostfile": ["/x"], "num_process": [4],  # unknown
    "tp_config": [{}], "parallelism_config": [{}],  # known to some versions
    "tpu_use_sudo": [OMIT, True], "enable_cpu_affinity": [OMIT, True], "command_file": [None, "x"],
}
# As text: what yaml.safe_dump() would not write.
LINES = ["distributed_type: NO", "num_processes: 0x10", "num_processes: 1_6", "num_processes: 010",
         "num_processes: +16", "main_process_port: 8:12", "main_process_port: 2_9517", "machine_rank: 0b1",
         "main_process_ip: 127.0.0.1 # mine", "main_process_ip: 127.0.0.1: 5", "mixed_precision: no",
         "mixed_precision: off", "use_cpu: Off", "num_machines : 2", "'num_machines': 2", "nonsense",
         "\tdebug: true", "main_process_ip: @here", "main_process_ip: 'a' b", "mixed_precision: \"no\"",
         "num_processes: 16.", "num_processes: 1e3", "num_processes: 1.6e+1", "debug: [1, 2]", "# nothing",
         "main_process_ip: - a", "num_machines: 2\nnum_machines: 1", "debug: true\n  below: 1",
         "gpu_ids: 0,1", "gpu_ids: 0", "machine_rank: .5", "main_process_port: 0o17", "num_processes: 08"]


def texts():
    r = random.Random(115)
    for base in BASES:
        yield yaml.safe_dump({**TWO, **base})
        for key, values in CHANGES.items():
            for value in values if base in BASES[:2] else r.sample(values, min(2, len(values))):
                d = {**TWO, **base, key: value}
                if value == OMIT:
                    del d[key]
                yield yaml.safe_dump(d, sort_keys=r.random() < .5)
    for base in BASES[:6]:
        for line in LINES:
            key = line.split(":")[0].strip(" '\t#")
            d = {k: v for k, v in {**TWO, **base}.items() if k != key}
            yield yaml.safe_dump(d) + line + "\n"
    for _ in range(300):
        d = {**TWO, **r.choice(BASES)}
        for key in r.sample(list(CHANGES), 3):
            d[key] = r.choice(CHANGES[key])
            if d[key] == OMIT:
                del d[key]
        yield yaml.safe_dump(d)
    yield from ("", "# nothing\n", "- a\n- b\n", "a word\n")


def write():
    names = []
    for i, text in enumerate(texts()):
        names.append(f"{i}.yaml")
        with open(names[-1], "w", encoding="utf-8") as f:
            f.write(text)
        try:
            d = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if i % 8 == 0 and isinstance(d, dict) and not any(isinstance(v, float) for v in d.values()):  # 2.0 is 2 for our JSON
            names.append(f"{i}.json")
            with open(names[-1], "w", encoding="utf-8") as f:
                json.dump(d, f)
    return names


def ours(name):
    out = subprocess.run(["ifprobe", "--check", "--accelerate", name, "--json", "--deadline", "1s"],
                         capture_output=True, text=True).stdout
    d = json.loads(out)
    findings = [f for f in d["findings"] if f["check"].startswith("lint.accelerate")]
    said = [f for f in findings if "accelerate refuses to start" in f["message"]]
    a = d["data"]["accelerate"]
    assert bool(said) == ("refused" in a), (name, out)
    assert not said or said[0]["status"] == "fail", (name, out)
    # a type only warns where mpirun may start accelerate
    return a, {f["check"].split(".")[-1] for f in findings if f["status"] == "fail" or f["check"].endswith(".type")}


def differ(mine, wrong, real):
    if mine.get("by") == "sagemaker":  # not judged; 1.15 itself ends in an AttributeError by any
        return "refused" not in real
    if "refused" in mine or "refused" in real:
        return ("refused" in mine) != ("refused" in real)
    if mine["by"] != real["way"]:
        return True
    if real["way"] == "one process":  # of several that the file speaks of: that must be said
        return (mine["machines"] > 1) > ("type" in wrong)
    if real["way"] != "torchrun":
        return False
    if mine["port"] == 0:  # any free one
        mine = {**mine, "port": real["port"]}
    hangs = real["machines"] > 1 and (real["address"] == "None" or not 0 <= real["rank"] < real["machines"])
    return hangs > bool(wrong) or any(mine[m] != real[k] for m, k in (
        ("machines", "machines"), ("machine_rank", "rank"), ("processes_here", "each"),
        ("world", "world"), ("address", "address"), ("port", "port")))


def main():
    names = write()
    # where ifprobe finds the version of it; a PYTHONPATH stands before
    os.environ["VIRTUAL_ENV"] = os.path.dirname(os.path.dirname(sys.argv[1]))
    here = os.path.dirname(os.path.abspath(__file__))
    got = subprocess.run([sys.argv[1], f"{here}/accelerate_real.py", *names], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    if got.returncode:
        sys.exit(got.stderr[-2000:])
    real = json.loads(got.stdout)
    bad = 0
    for name in names:
        mine, wrong = ours(name)
        if differ(mine, wrong, real[name]):
            bad += 1
            with open(name, encoding="utf-8") as f:
                print(f"--- {name}\n{f.read()}ours: {mine} {sorted(wrong)}\ntheirs: {real[name]}")
    refused = sum("refused" in real[n] for n in names)
    ways = sorted({real[n]["way"] for n in names if "way" in real[n]})
    print(f"accelerate {real['version']}: {len(names)} files, {refused} refused, the others by {', '.join(ways)}: {bad} disagree")
    sys.exit(bad > 0 or refused < 100 or len(names) - refused < 100)


main()
