#!/usr/bin/env bats
# ncclbench --for: a burn-in. So long and no longer, one row of each size at the end, what goes
# wrong with the time at which it did, and memory that does not grow.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../wait.sh
load plugins.sh

setup() { cd "$BATS_TEST_TMPDIR" || return; }

bench() { run --separate-stderr "$BIN/ncclbench" "$@"; }

well() { [[ $status == 0 ]] || { echo "exit code $status" "$output" "$stderr"; false; }; }

rows() { grep -v '^#' <<<"$output"; }

# Waits for the Nth line of what is said meanwhile.
wait_for_lines() { # FILE N [TWENTIETHS-OF-A-SECOND]
    local i
    for ((i = 0; i < ${3:-400}; i++)); do
        [[ ! -e $1 ]] || (($(grep -c ' of .*: [0-9]* cycle' "$1") < $2)) || return 0
        sleep 0.05
    done
    cat "$1"
    return 1
}

refused() { # WHAT-IS-SAID ARGS...
    local said=$1
    shift
    bench "$@"
    [[ $status == 2 && -z $output && ${#stderr_lines[@]} == 1 && $stderr == *"$said"* ]] ||
        { echo "$*: $status $output $stderr"; return 1; }
}

@test "--for: again and again until the time is over, then one row of each size and PASS" {
    local start=$SECONDS
    bench --for 6s -b 64K -e 4M -f 8 -n 5
    well
    ((SECONDS - start >= 6 && SECONDS - start < 25))
    [[ $(sed -n 2p <<<"$output") == "# Burn-in of 6 s, again and again: 64 KiB, 512 KiB, 4 MiB" ]]
    [ "$(rows | awk '{ print $1 }' | paste -sd ' ')" = "65536 524288 4194304" ]
    [ "$(rows | awk 'NF == 13' | wc -l)" -eq 3 ]
    [[ $output =~ "# Burn-in: "([0-9]+)" whole cycles, "([0-9]+)" rows in "([0-9]+) ]]
    local cycles=${BASH_REMATCH[1]} all=${BASH_REMATCH[2]}
    ((BASH_REMATCH[3] >= 5 && BASH_REMATCH[3] < 12)) # what is begun is ended, late on a busy machine
    ((cycles > 3 && all >= 3 * cycles && all < 3 * cycles + 3))
    [[ $output == *"# PASS coll.data: $((2 * all)) results verified, none wrong"* ]]
    # "-": a tenth that a busy machine gave nobody
    [[ $output =~ "# 4 MiB, each tenth of the time:"(" "[0-9.e+-]+){10}" GB/s; lowest "[0-9.]+", highest "[0-9.]+ ]]
    [[ $output == *" coll.drift: "* ]]
}

@test "--for --json: what there is of a table, and the course: lowest, median, highest" {
    bench --for 3s -b 1M -e 2M -n 3 --json
    well
    jq -e '.verdict == "pass" and (.data.results | length == 4 and all(.rows > 1 and .wrong == 0 and
        0 < .busbw_min and .busbw_min <= .busbw_p50 and .busbw_p50 <= .busbw_max and
        .busbw_min <= .busbw and .busbw <= .busbw_max and .p50_us <= .p99_us))' <<<"$output"
    jq -e '.data.course | .for_s == 3 and .seconds > 2.5 and .cycles > 1 and (.sizes | length == 2 and
        all((.points | length > 1 and length <= 256) and .rows > 1) and (.[0].points | . == sort_by(.[0])))' <<<"$output"
    jq -e '.findings | any(.check == "coll.drift" and .status != "warn")' <<<"$output"
}

@test "--for: the other formats, -J, --plot and baselines have those rows, too" {
    local f
    for f in junit markdown tap; do
        bench --for 1s -b 1M -e 1M -n 3 --format $f
        [[ $status == 0 && $output == *coll.data* ]] || { echo "$f: $status $output $stderr"; false; }
    done
    bench --for 1s -b 1M -e 2M -n 3 -J x.json --plot x.svg --save-baseline base --report x.html -I 1
    well
    jq -e '.results | length == 2 and all(.[]; .out_of_place.bus_bw > 0 and (has("out_of_place_per_iter") | not))' x.json
    grep -q polyline x.svg && grep -q 'Bus bandwidth over the time' x.html
    rows | awk 'NF != 21 { exit 1 }'
    [[ $output == *"coll.drift: too short to know whether bandwidth sank: the first 3 s do not count: --for 30s"* ]]
    bench --for 1s -b 1M -e 2M -n 3 --baseline base --warn-below 1 --fail-below 0.5
    [[ $status == 0 && $output == *"coll.baseline"* ]] || { echo "$output $stderr"; false; }
}

@test "--for without sizes: some for a burn-in, and the first lines say which" {
    bench --for 1s -n 1 -w 0 -c 0
    well
    [[ $output == *"# Burn-in of 1 s, again and again: 2 KiB, 64 KiB, 2 MiB, 64 MiB"* ]]
    [ "$(rows | head -1 | awk '{ print $1 }')" -eq 2048 ]
}

@test "--for: every type, reduction and root is a row by itself" {
    bench --for 2s -b 1K -e 1K -n 2 --coll reduce -r all -d all -o all --np 2 --json
    well
    jq -e '(.data.results | length) as $n | $n > 50 and
        ([.data.results[] | [.dtype, .redop, .root, .in_place]] | unique | length) == $n' <<<"$output"
}

@test "--for of one rank alone: there is no bandwidth that could sink" {
    bench --np 1 --for 2s -b 1M -e 1M -n 1
    well
    [[ $output == *"INFO coll.drift: one rank alone has no bandwidth"* && $output != *nan* ]] || { echo "$output"; false; }
}

@test "--for: sizes that come to the same are all measured" {
    bench --coll all_gather --np 4 --for 2s -b 8 -e 64 -f 2 -n 1
    [[ $status == 0 && $output != *"not measured"* ]] || { echo "$output"; false; }
}

@test "--for with what says otherwise how long it takes is refused with what helps" {
    refused "--for says how long, and -N how often" --for 5s -N 1
    refused "--budget 4 s would cut --for 5 s off: leave it out" --for 5s --budget 4s
    refused "would cut" --for 5s --budget 5s
    refused "--for is of a table of sizes" --for 5s --pairs
    refused "--for is of a table of sizes" --for 5s --find-slow
    refused "--for" --for 0
    refused "--for" --for soon
    bench --for 1s --budget 50s -b 64K -e 64K -n 2 # cuts nothing
    well
}

@test "--within: less often, fewer sizes, and it is said; what it does not go with is refused" {
    bench --within 30s -b 8 -e 64K -f 8192 -n 5 --json # room for all, on a busy machine, too
    well
    [ "$(jq -c '[.data.results[].size] | unique' <<<"$output")" = '[8,65536]' ]
    [[ $output != *"--within)"* ]]
    bench --within 3s -b 128K -e 128K -n 100000
    well
    [[ $output == *"# So that all fits into 3 s (--within), sizes from 128 KiB on were measured less often than 100000 times."* ]]
    bench --within 3s -b 64K -e 1G -n 20 -w 20
    well
    [[ $output == *"# Larger sizes had no room within 3 s (--within) and were left out."* ]]
    bench --within 1s -b 1M -e 1G -w 30000
    [[ $status == 3 && $stderr == *"the first size, 1 MiB, has no room within 1 s: nothing was measured"*"--within 10 s, or"* ]]
    refused "--for goes on until its time is over, --within ends as soon as all is measured" --for 5s --within 5s
    refused "-N 0 goes on until it is stopped" --within 5s -N 0
    refused "--within is of a table of sizes" --within 5s --find-slow
    refused "--within" --within 0
}

@test "--for where nobody watches: a line now and then, with cycles, speed, lowest and highest" {
    bench --for 9s -b 8 -e 64K -f 8192 -n 2
    well
    ((${#stderr_lines[@]} >= 2 && ${#stderr_lines[@]} <= 4)) # one each two seconds, or later
    [[ ${stderr_lines[0]} =~ ^"ncclbench: "[2-8][.0-9]*" s of 9 s: "[0-9]+" cycles, bus bandwidth "[0-9.e-]+" GB/s at 64 KiB (lowest "[0-9.e-]+", highest "[0-9.e-]+")"$ ]]
    bench --for 3s -b 8 -e 8 -n 2 --quiet
    [[ $status == 0 && -z $stderr && ${#lines[@]} == 1 ]]
}

@test "--for on a terminal: a bar with the time that is left, and no lines" {
    run -0 env TERM=xterm COLUMNS=150 script -qec "'$BIN/ncclbench' --for 4s -b 64K -e 64K -n 2" /dev/null </dev/null
    [[ $output =~ [123]" s left, "[0-9]+" cycles, bus bandwidth "[0-9.]+" GB/s at 64 KiB (lowest "[0-9.]+", highest "[0-9.]+"); all_reduce float 64 KiB; second "[123]" of 4" ]]
    [[ $output != *"ncclbench: 2 s of"* ]]
}

@test "--for: Ctrl-C keeps what there is" {
    local code=0
    "$BIN/ncclbench" --np 2 --for 60s -b 64K -e 256K -f 4 -n 2 --json >out 2>err 3>&- &
    wait_for_lines err 1
    kill -INT $!
    wait $! || code=$?
    [ "$code" -eq 3 ]
    jq -e '.data.course.seconds > 1.5 and (.data.results | length == 4)' out
    [ "$(grep -c 'interrupted by SIGINT' err)" -eq 1 ]
}

@test "--for: a rank that dies is named with the time" {
    local code=0
    "$BIN/ncclbench" --np 3 --for 60s -b 64K -e 64K -n 2 >out 2>err 3>&- &
    wait_for_lines err 1
    kill -9 "$(sed -n 's/^#  Rank  2 .*Pid *\([0-9]*\) on.*/\1/p' out)"
    wait $! || code=$?
    [ "$code" -eq 1 ]
    grep -E '^# FAIL rank.alive: rank 2 .* died: killed by signal 9.*; [0-9.]+ s after the start \(20' out
    grep -q '^ *65536 ' out
}

@test "--for: wrong data ends it at once, and when that was is said" {
    plugin_test ncclbench
    fake
    WINDSOCK_FAKE_NCCL=wrong-sum run -1 --separate-stderr "$B" --backend nccl --np 2 --for 60s -b 1K -e 64K -f 8 -n 3
    [[ $output =~ "# FAIL coll.data: "[12]" of "[0-9]+" results had wrong elements"(" (first float sum)"|" (float sum)")": the first in cycle 1, "[0-9.]+" "[mu]*"s after the start (20" ]]
}

@test "--for: ranks of another launcher, and all have to be asked for the same time" {
    local init
    init=tcp://127.0.0.1:$(free_port)
    "$BIN/ncclbench" --init "$init" --rank 1 --world-size 2 --for 6s -b 64K -e 64K -n 2 >other 2>&1 3>&- &
    bench --init "$init" --rank 0 --world-size 2 --for 6s -b 64K -e 64K -n 2
    wait $!
    # a row may be late with it
    [[ $status == 0 && $output == *"# Burn-in: "* && $stderr =~ ^"ncclbench: "[2-6][.0-9]*" s of 6 s: " ]] ||
        { echo "$status $output $stderr"; false; }
    [ ! -s other ] || { cat other; false; }
    init=tcp://127.0.0.1:$(free_port)
    "$BIN/ncclbench" --init "$init" --rank 1 --world-size 2 --for 4s -b 64K -e 64K -n 2 >other 2>&1 3>&- &
    bench --init "$init" --rank 0 --world-size 2 --for 3s -b 64K -e 64K -n 2
    wait $! || true
    [[ $status == 1 && $output == *"FAIL rank.alive"*"--for is 3 s on rank 0"*" and 4 s on rank 1"* ||
        $output == *"FAIL rank.alike"*"--for is 3 s on rank 0"*" and 4 s on rank 1"* ]] || { echo "$output"; false; }
}

# The memory of a process and all that it started, KiB.
memory() { # PID
    local pids=$1 more=$1
    while [ -n "$more" ]; do
        more=$(pgrep -d, -P "$more") || break
        pids+=,$more
    done
    ps -o rss= -p "$pids" | awk '{ sum += $1 } END { print sum }'
}

@test "--for: memory does not grow with the rows" {
    [[ ! ${WINDSOCK_SANITIZED-} ]] || skip "sanitizer build: it keeps what was freed"
    local early late code seconds
    for seconds in 6 30 180; do # a busy machine takes longer for as many rows
        code=0
        "$BIN/ncclbench" --np 2 --for ${seconds}s -b 8 -e 8 -n 20 -w 0 --json >out 2>err 3>&- &
        late=
        if wait_for_lines err 1 $((seconds * 40)); then
            early=$(memory $!)
            ! wait_for_lines err 2 $((seconds * 40)) || late=$(memory $!)
        fi
        wait $! || code=$?
        [ "$code" -eq 0 ]
        [ "$late" ] || continue
        echo "$early $late KiB, $(jq -c '.data.course | [.seconds, .sizes[0].rows]' out)"
        ! jq -e '.data.course.sizes[0].rows > 3000' out || break
    done
    [ "$late" ]
    jq -e '.data.course.sizes[0].rows > 3000' out
    ((late - early < 700)) # a row's text has more than 1,000 bytes, and a third of the rows came between
}
