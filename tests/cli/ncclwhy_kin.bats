#!/usr/bin/env bats
# ncclwhy: a finer entry of the catalogue goes by the id that it shares a family with.
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    {
        echo 'torch.distributed.elastic: [ERROR] failed (exitcode: -9) local_rank: 1 (pid: 4711)'
        echo '[rank1]:[W] nothing of interest'
        echo 'kernel: Out of memory: Killed process 4711 (python3) total-vm:1kB'
    } >killed.log
}

@test "JSON: the family's id, the finer entry, and who else of the family was met" {
    run -1 --separate-stderr "$why" --json killed.log
    jq -e '.data.causes[0] | .id == "SHM-004" and .entry == "KRN-001" and .line == 3
        and (.meaning | contains("ran out of memory"))
        and (.kin | length == 1 and (.[0] | .entry == "SHM-004" and .line == 1 and .count == 1
            and (.matched | contains("exitcode"))))' <<<"$output"
    jq -e '[.data.causes[].id] | index("SHM-004") == rindex("SHM-004") and index("KRN-001") == null' <<<"$output"
    jq -e '[.findings[] | select(.check == "log.cause")][0].subject == "SHM-004"' <<<"$output"
    valid
}

@test "JSON: what has no family, or stands for it, is its own entry" {
    run -1 --separate-stderr "$why" --json "$ROOT/tests/logs/real/020.log"
    jq -e '.data.causes[0] | .id == "CON-013" and .entry == "CON-013" and has("kin") == false' <<<"$output"
    echo 'RuntimeError: CUDA error: device-side assert triggered' >assert.log
    run -1 --separate-stderr "$why" --json assert.log
    jq -e '.data.causes[0] | .id == "GPU-019" and .entry == "GPU-019"' <<<"$output"
}

@test "the table shows both ids where they differ, and every line of the family" {
    run -1 --separate-stderr "$why" killed.log
    [[ ${lines[0]} == fail*log.cause*SHM-004*"; KRN-001: line 3 of killed.log, and SHM-004: line 1 of killed.log"* ]]
    [[ $output == *"The line (line 3 of killed.log):"* ]]
    run -1 --separate-stderr "$why" "$ROOT/tests/logs/real/020.log"
    [[ ${lines[0]} == fail*CON-013*"; line "* && ${lines[0]} != *"CON-013:"* ]]
    run -9 --separate-stderr "$why" -- sh -c 'cat killed.log; exit 9'
    [[ $stderr == *SHM-004*"KRN-001: line 3"* ]]
}

@test "--confirm looks for what the family's entry can be looked for, under its id" {
    echo 'RuntimeError: unable to write to file </torch_4711_1>' >shm.log
    run -1 --separate-stderr "$why" --json --confirm shm.log
    jq -e '.data.causes[0] | .id == "SHM-002" and .entry == "SHM-005"' <<<"$output"
    jq -e '[.findings[] | select(.check == "log.confirm" and .subject == "SHM-002")] | length == 1' <<<"$output"
    # nothing is asked for LIM-009 itself: what serves its family does
    echo 'libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.' >limit.log
    run -0 --separate-stderr bash -c "ulimit -l 64; '$why' --json --confirm limit.log"
    jq -e '.data.causes[0] | .id == "LIM-002" and .entry == "LIM-009"
        and (.seen_here | startswith("confirmed: the memlock limit"))' <<<"$output"
}
