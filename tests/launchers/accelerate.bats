#!/usr/bin/env bats
# ifprobe --check beside the real accelerate: what it refuses, and where ranks would meet by its
# file. Needs accelerate and torch: scripts/check-launchers gets them; WINDSOCK_TORCH_VENV is
# another one's virtual environment.
#
#   ACCELERATE=1.6.0           another version than is in there, got from PyPI once
#   ACCELERATE=FOLDER          the one that lies there
bats_require_minimum_version 1.5.0

setup_file() {
    export VIRTUAL_ENV=${WINDSOCK_TORCH_VENV:-$HOME/.cache/windsock/torch} # ifprobe looks there for the version
    [[ -n ${ACCELERATE-} && -x $VIRTUAL_ENV/bin/accelerate ]] || return 0
    PYTHONPATH=$ACCELERATE
    if [[ ! -d $ACCELERATE ]]; then
        PYTHONPATH=${VIRTUAL_ENV%/*}/accelerate-$ACCELERATE
        if [[ ! -d $PYTHONPATH ]]; then # whole, or not there
            rm -rf "$PYTHONPATH.new"
            "$VIRTUAL_ENV/bin/pip" install -q --no-deps --target "$PYTHONPATH.new" "accelerate==$ACCELERATE"
            mv "$PYTHONPATH.new" "$PYTHONPATH"
        fi
    fi
    PYTHONPATH=$(realpath "$PYTHONPATH")
    export PYTHONPATH
}

setup() {
    cd "$BATS_TEST_TMPDIR" || exit
    VENV=$VIRTUAL_ENV/bin
    [[ -x $VENV/accelerate ]] || skip "no accelerate in ${VENV%/bin} (scripts/check-launchers gets it)"
    python3 -c 'import yaml' || skip "needs python3-yaml"
    export PATH=$BIN:$PATH
    unset OMP_NUM_THREADS
}

@test "accelerate refuses what we say it refuses, and meets where we say: over a thousand files" {
    run -0 timeout 300 python3 "$ROOT/tests/launchers/accelerate_files.py" "$VENV/python"
    [[ $output == *" files, "*" refused, the others by "*": 0 disagree" ]]
}

conf() { # LINES...: instead of these keys
    cat >conf.yaml <<'END'
distributed_type: MULTI_GPU
mixed_precision: 'no'
num_machines: 1
num_processes: 2
main_process_port: 29519
use_cpu: true
END
    printf '%s\n' "$@" >>conf.yaml
}

# Launched for good: what its ranks are told is data.accelerate.
@test "accelerate launch --config_file: its ranks have the address, the port and the number we say" {
    # shellcheck disable=SC2016 # expanded by the rank
    printf '#!/bin/sh\necho "$RANK of $WORLD_SIZE at $MASTER_ADDR:$MASTER_PORT"\n' >job
    chmod +x job
    conf
    run -0 --separate-stderr timeout 90 "$VENV/accelerate" launch --config_file conf.yaml --no_python ./job
    run -0 sort <<<"$output"
    told=$output
    run -0 --separate-stderr ifprobe --check --accelerate conf.yaml --json
    [ "$told" = "$(jq -r '.data.accelerate | . as $a | range(.world) |
        "\(.) of \($a.world) at \($a.address):\($a.port)"' <<<"$output")" ]
    conf 'distributed_type: MULTI_CPU' 'num_processes: 4'
    run -0 --separate-stderr timeout 90 "$VENV/accelerate" launch --config_file conf.yaml --no_python ./job
    [[ $output == " of  at 127.0.0.1:29519" ]] # one, whatever the file says
    run -0 --separate-stderr ifprobe --check --accelerate conf.yaml --json
    jq -e '.findings[] | select(.check == "lint.accelerate.type") | .status == "warn" and
        (.message | contains("one process starts"))' <<<"$output" # mpirun may start accelerate
    conf 'mixed_precision: no'
    run -1 timeout 90 "$VENV/accelerate" launch --config_file conf.yaml --no_python ./job
    run -1 --separate-stderr ifprobe --check --accelerate conf.yaml
    [[ $output == *"accelerate refuses to start"* ]]
    bash -euc "$(sed -n "s/^ *-> //p" <<<"$output" | head -n 1)"
    run -0 timeout 90 "$VENV/accelerate" launch --config_file conf.yaml --no_python ./job
    run -0 --separate-stderr ifprobe --check --accelerate conf.yaml
    run -1 timeout 90 "$VENV/accelerate" launch --config_file none.yaml --no_python ./job
    run -1 --separate-stderr ifprobe --check --accelerate none.yaml
}
