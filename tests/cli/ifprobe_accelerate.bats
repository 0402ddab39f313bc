#!/usr/bin/env bats
# ifprobe --check and the file that `accelerate config` writes: what each trap in it is called, the
# command that mends it, and that it is read as PyYAML reads it. No network and no root needed.
bats_require_minimum_version 1.5.0
load ifprobe.sh

MACHINE_0="compute_environment: LOCAL_MACHINE
debug: false
distributed_type: MULTI_GPU
downcast_bf16: 'no'
gpu_ids: all
machine_rank: 0
main_process_ip: 10.0.0.1
main_process_port: 29500
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 16
rdzv_backend: static
same_network: true
tpu_env: []
use_cpu: false"

setup_file() {
    BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR machine one "${NIC[@]}"
    "$ROOT/tests/sysroot/compose" hgx-h100 "$BATS_FILE_TMPDIR/hgx-h100"
}

conf() { # MACHINE [SED]: its file, changed
    file=$BATS_FILE_TMPDIR/$1$HOME/.cache/huggingface/accelerate/default_config.yaml
    mkdir -p "${file%/*}"
    sed "${2:-}" <<<"$MACHINE_0" >"$file"
}

# shellcheck disable=SC2154 # $output
said() { jq -r '.findings[] | select(.check | startswith("lint.accelerate")) | "\(.check) \(.status)"' <<<"$output"; }

@test "accelerate: every trap has a name, and the command that is printed mends it" {
    while IFS='|' read -r change check words; do
        conf one "$change"
        run -0 --separate-stderr on one --check --json
        [ "$(said)" = "lint.accelerate.$check warn" ] || { echo "$change: $(said)" && false; }
        jq -e --arg w "$words" '.findings[0] | .message | contains($w)' <<<"$output" >/dev/null ||
            { echo "$change: $output" && false; }
        HOME=$BATS_FILE_TMPDIR/one$HOME bash -euc "$(jq -r '.findings[0].fix[0]' <<<"$output")"
        run -0 --separate-stderr on one --check --json
        [ "$(said)" = "lint.accelerate pass" ] || { echo "$change, mended: $output" && false; }
    done <<'END'
s/^main_process_ip.*/main_process_ip: 127.0.0.1/|address|each machine waits for the others at itself
/^main_process_ip/d|address|a machine called None
s/^main_process_ip.*/main_process_ip: null/|address|a machine called None
s/^main_process_ip.*/main_process_ip: 10.0.0.1:29500/|address|holds a port
s/^main_process_ip.*/main_process_ip: 10.0.0.9/|rank|another machine's, or nobody's
s/^main_process_ip.*/main_process_ip: 54.1.2.3/|address|is public
s/^main_process_ip.*/main_process_ip: nobody/|address|leads nowhere
s/^machine_rank.*/machine_rank: 1/|rank|nobody listens there
s/^machine_rank.*/machine_rank: 2/|rank|2 machines have 0 to 1
s/^main_process_port.*/main_process_port: 0/|port|a free port of its own
s/^main_process_port.*/main_process_port: 80000/|port|no port
s/^num_processes.*/num_processes: 1/|processes|none on each
s/^num_processes.*/num_processes: 5/|processes|no more than 2 on each start, 4 in all
/^num_processes/d|processes|is not set
s/^main_process_port.*/main_process_port: '29500'/|port|accelerate refuses to start
s/^mixed_precision.*/mixed_precision: no/|file|without quotes is a boolean
s/^gpu_ids.*/gpu_ids: 0/|file|quotes are missing
s/^debug.*/ipex_config:\n  ipex: true/|file|a key that accelerate from 1.13 on does not know; such a one refuses to start
s/^debug.*/num_process: 4/|file|a key that accelerate does not know
s/^debug.*/debugs:\n- a\n- b/|file|a key that accelerate does not know
s/^num_machines.*/num_machines: '2'/|file|in quotes is a text
s/^distributed_type.*/distributed_type: 'NO'/|type|each machine trains by itself
END
    # it ends at the first of these, and would at the second
    conf one 's/^num_processes.*/num_processes: 1/; s/^mixed_precision.*/mixed_precision: no/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = $'lint.accelerate.processes warn\nlint.accelerate.file warn' ]
}

@test "accelerate: what is right, or not for several machines, or another launcher's" {
    run -0 --separate-stderr on one --check --json
    [ -z "$(said)" ] # there is no file
    conf one
    run -0 --separate-stderr on one --check --json
    valid
    [ "$(said)" = "lint.accelerate pass" ]
    jq -e '.data.lint[] | select(.name == "accelerate main_process_ip") |
        .value == "10.0.0.1" and .origin == "~/.cache/huggingface/accelerate/default_config.yaml:7"' <<<"$output"
    conf one 's/^main_process_ip.*/main_process_ip: 10.0.0.2/; s/^machine_rank.*/machine_rank: 1/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate pass" ] # the other machine's address
    conf one 's/^num_machines.*/num_machines: 1/; /^main_process_ip/d'
    run -0 --separate-stderr on one --check --json
    [ "$(said) $(jq '.data.lint | length' <<<"$output")" = "lint.accelerate pass 0" ]
    conf one 's/^distributed_type.*/distributed_type: DEEPSPEED/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate info" ]
    conf one 's/^rdzv_backend.*/rdzv_backend: c10d/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = $'lint.accelerate.rendezvous info\nlint.accelerate pass' ] # not taken from there
    conf one 's/^distributed_type.*/distributed_type: MULTI_CPU/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate.type warn" ]
    conf one 's/^distributed_type.*/distributed_type: MULTI_CPU/; s/^debug.*/mpirun_config:\n  mpirun_hostfile: h/'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate info" ]
    conf one '/^distributed_type/d'
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate.file warn" ]
}

@test "accelerate: processes are those of all machines: beside this host's GPUs" {
    while read -r processes ip rank want; do
        conf hgx-h100 "s/^num_processes.*/num_processes: $processes/; s/^main_process_ip.*/main_process_ip: $ip/; s/^machine_rank.*/machine_rank: $rank/"
        run -0 --separate-stderr on hgx-h100 --check --json
        [ "$(said)" = "$want" ] || { echo "$processes: $(said)" && false; }
    done <<'END'
16 10.254.0.9 1 lint.accelerate pass
8 10.254.0.9 1 lint.accelerate.processes warn
32 10.254.0.9 1 lint.accelerate.processes warn
END
}

@test "accelerate: what a command is pasted for is the file that was named, whatever it holds" {
    printf '%s' "$MACHINE_0" | sed 's/^machine_rank.*/machine_rank: 1/' >open.yaml # its last line has no end
    run -1 --separate-stderr on one --check --accelerate open.yaml --json
    bash -euc "$(jq -r '.findings[0].fix[0]' <<<"$output")"
    run -0 --separate-stderr on one --check --accelerate open.yaml --json
    [ "$(said)" = "lint.accelerate pass" ]
    printf '%s\n"x'"'; touch pasted; '"'": 1\n' "$MACHINE_0" >odd.yaml
    run -1 --separate-stderr on one --check --accelerate odd.yaml --json
    [ "$(jq -r '.findings[0].fix[0]' <<<"$output")" = "accelerate config --config_file odd.yaml   # asks anew" ]
    run -1 --separate-stderr on one --check --accelerate none.yaml --json
    [ "$(jq -r '.findings[0].fix[0]' <<<"$output")" = "accelerate config --config_file none.yaml   # asks anew" ]
}

@test "accelerate: what is the way of many machines is no failure" {
    echo "127.0.1.1 node0" >>"$BATS_FILE_TMPDIR/one/etc/hosts" # as Debian has it: the store listens there, too
    echo "${MACHINE_0/10.0.0.1/node0}" >name.yaml
    run -0 --separate-stderr on one --check --accelerate name.yaml --json
    [ "$(said)" = "lint.accelerate pass" ]
    sed 's/^machine_rank.*/machine_rank: 1/' name.yaml >other.yaml
    run -1 --separate-stderr on one --check --accelerate other.yaml --json
    [ "$(said)" = "lint.accelerate.address fail" ]
    sed 's/^main_process_ip.*/main_process_ip: 54.1.2.3/; s/^machine_rank.*/machine_rank: 1/' <<<"$MACHINE_0" >public.yaml
    run -0 --separate-stderr on one --check --accelerate public.yaml --json
    [ "$(said)" = "lint.accelerate.address warn" ] # it may be open
    echo "${MACHINE_0/MULTI_GPU/MULTI_CPU}" >cpu.yaml
    run -0 --separate-stderr on one --check --accelerate cpu.yaml --json
    [ "$(said)" = "lint.accelerate.type warn" ] # mpirun may start accelerate
    jq -e '.findings[0].message | contains("unless mpirun starts accelerate itself")' <<<"$output"
}

@test "accelerate: which version is here decides; what is not known to be here fails nobody" {
    printf '%s\nipex_config: {}\n' "$MACHINE_0" >ipex.yaml
    run -0 --separate-stderr on one --check --accelerate ipex.yaml --json
    [ "$(said)" = "lint.accelerate.file warn" ]
    jq -e '.findings[0].message | contains("accelerate from 1.13 on does not know")' <<<"$output"
    jq -e '.data.accelerate | .by == "torchrun" and .port == 29500 and (has("refused") | not)' <<<"$output"
    while read -r version status want; do
        packages=$BATS_FILE_TMPDIR/one/usr/lib/python3.12/site-packages
        mkdir -p "$packages/accelerate-$version.dist-info"
        run "-$status" --separate-stderr on one --check --accelerate ipex.yaml --json
        rm -r "${packages:?}"
        [ "$(said)" = "$want" ] || { echo "$version: $(said)" && false; }
    done <<'END'
1.12.0 0 lint.accelerate pass
1.13.0 1 lint.accelerate.file fail
1.16.0.dev0 1 lint.accelerate.file fail
END
}

@test "accelerate: HF_HOME and XDG_CACHE_HOME lead to another file; one that cannot be read is said" {
    conf one
    mkdir -p "$BATS_FILE_TMPDIR/one/hf/accelerate" "$BATS_FILE_TMPDIR/one/xdg/huggingface/accelerate"
    sed 's/^main_process_ip.*/main_process_ip: 10.0.0.7/' "$file" >"$BATS_FILE_TMPDIR/one/hf/accelerate/default_config.yaml"
    sed 's/^main_process_ip.*/main_process_ip: 10.0.0.8/' "$file" >"$BATS_FILE_TMPDIR/one/xdg/huggingface/accelerate/default_config.yaml"
    XDG_CACHE_HOME=/xdg run -0 --separate-stderr on one --check
    [[ $output == *"/xdg/huggingface/accelerate/default_config.yaml"*"main_process_ip: 10.0.0.8 is another"* ]]
    HF_HOME=/hf XDG_CACHE_HOME=/xdg run -0 --separate-stderr on one --check
    [[ $output == *"/hf/accelerate/default_config.yaml"*"main_process_ip: 10.0.0.7 is another"* ]]
    truncate -s 2M "$file"
    run -0 --separate-stderr on one --check --json
    [ "$(said)" = "lint.accelerate.file warn" ]
    rm "$file"
    mkdir "$file" # no file for accelerate, either
    run -0 --separate-stderr on one --check --json
    [ -z "$(said)" ]
    rmdir "$file"
}

@test "accelerate: the file is read as PyYAML reads it, 150 of them" {
    conf one
    HOST=$BATS_FILE_TMPDIR/one FILE=$file run -0 python3 - <<'END'
import json, os, random, subprocess, yaml
r = random.Random(20)
words = ["10.0.0.1", "fd00::1", "a b", "it's", "x # y", "#x", "x#", ": ", "a: b", "no", "", " ", "~", "null", "1_0",
         "[a]", "{a}", "- a", "é", "'q'", '"q"', "x:", "%", "@", "true", "012"]
for _ in range(150):
    d = {"num_machines": r.randint(2, 9), "distributed_type": "MULTI_GPU", "tpu_env": ["a", "b: c"][:r.randint(0, 2)],
         "fsdp_config": {"main_process_ip": "nested", "x": 1}, "machine_rank": r.choice([0, 1, None]),
         "main_process_ip": r.choice(words + [None]), "mixed_precision": r.choice(words), "use_cpu": r.choice([True, False])}
    text = yaml.safe_dump(d, sort_keys=r.random() < .5, allow_unicode=True)
    open(os.environ["FILE"], "w").write(text)
    got = json.loads(subprocess.run(["ifprobe", "--sysroot", os.environ["HOST"], "--check", "--json", "--deadline", "1s"],
                                    capture_output=True, text=True).stdout)
    for k in ("num_machines", "machine_rank", "main_process_ip", "mixed_precision", "use_cpu", "distributed_type"):
        mine = [x["value"] for x in got["data"]["lint"] if x["name"] == "accelerate " + k]
        want = [] if d[k] is None else [str(d[k]).lower() if isinstance(d[k], bool) else str(d[k])]
        assert mine == want, (text, k, mine, want)
END
}

@test "accelerate: --accelerate FILE is checked in its place, also as JSON, and then it fails" {
    conf one
    sed 's/^machine_rank.*/machine_rank: 1/' "$file" >mine.yaml
    run -1 --separate-stderr on one --check --accelerate mine.yaml --json
    [ "$(said)" = "lint.accelerate.rank fail" ]
    jq -e '.data.accelerate | .file == "mine.yaml" and .by == "torchrun" and .machine_rank == 1 and
        .world == 16 and .processes_here == 8 and .address == "10.0.0.1" and .port == 29500' <<<"$output"
    echo '{"distributed_type": "MULTI_GPU", "num_machines": 2, "num_processes": 2, "main_process_ip": "10.0.0.1",
        "main_process_port": "29500"}' >mine.json
    run -1 --separate-stderr on one --check --accelerate mine.json --json
    [ "$(said)" = "lint.accelerate.port fail" ]
    bash -euc "$(jq -r '.findings[0].fix[0]' <<<"$output")"
    run -0 --separate-stderr on one --check --accelerate mine.json --json
    [ "$(said)" = "lint.accelerate pass" ]
    run -1 --separate-stderr on one --check --accelerate none.yaml --json
    [ "$(said)" = "lint.accelerate.file fail" ]
    run -2 --separate-stderr on one --accelerate mine.yaml
    [[ $stderr == *"--accelerate goes with --check"* ]]
    run -2 --separate-stderr on one --check --accelerate ''
}
