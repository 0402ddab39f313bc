#!/usr/bin/env bats
# -G over the NCCL plug-in: iterations as a CUDA graph, on stand-ins that say so where the real
# ones would spoil a capture, lose an operation or wait for ever.
# shellcheck disable=SC2030,SC2031,SC2154 # bats sets them
bats_require_minimum_version 1.5.0
load plugins.sh

setup() {
    plugin_test ncclbench
    fake
}
bench() { "$B" --backend nccl --np 2 -b 1K -e 64K -f 64 -n 4 --deadline 5 "$@"; }
silent() { [[ $stderr != *"stand-in"* ]] || { echo "$stderr"; return 1; }; }

@test "-G: every collective is captured, launched so often, verified as a graph, and nothing is left over" {
    local ask
    for ask in "" "-m 3" "-d all -o mulsum" "-c 3" "-R 2" "-n 1 -G 300 -K 5" "--coll alltoall" \
        "--coll alltoallv" "--coll gather -r 1" "--coll sendrecv" "--coll reduce_scatter" "--coll broadcast"; do
        # shellcheck disable=SC2086 # options and their values
        run -0 --separate-stderr bench -G 5 $ask --json
        jq -e '.verdict == "pass" and all(.data.results[]; (.wrong // 0) == 0)' <<<"$output" ||
            { echo "$ask: $output"; return 1; }
        silent
    done
    WINDSOCK_FAKE_CUDA=lazy run -0 --separate-stderr bench -G 2
    silent
    [[ $output == *" graph: 2 unalign: 0"*"# PASS coll.data: 4 results verified, none wrong"* ]]
    [[ $output == *"# -G 2: the iterations are one CUDA graph, launched so often: "* && $output != *"start of a thread"* ]]
}

# Two marks are 2 ms apart there, whatever is between them: a launch of four iterations, twice each.
@test "-G: times are of launches, each the mean of its operations; -J has them and says how often" {
    WINDSOCK_FAKE_CUDA=clock run -0 --separate-stderr bench -G 7 -m 2 --json -J doc.json
    jq -e '[.data.results[] | .p50_us, .p99_us] | unique == [250]' <<<"$output"
    jq -e '.config.graph == 7 and all(.results[]; .out_of_place_per_iter.times_us | length == 7)' doc.json
}

@test "-G: a wrong element of a launched graph is found" {
    WINDSOCK_FAKE_NCCL=wrong-replay run -0 --separate-stderr bench
    WINDSOCK_FAKE_NCCL=wrong-replay run -1 --separate-stderr bench -G 2
    [[ $output == *"# FAIL coll.data: 4 of 4 results had wrong elements (first float sum)"* ]]
    silent
}

@test "-G: a driver that captures nothing, spoils it, or has no room: measured without, and the reason is said once" {
    local mode why
    while IFS='|' read -r mode why; do
        WINDSOCK_FAKE_CUDA=$mode run -0 --separate-stderr bench -G 3 --json
        jq -e --arg w "$why" '.verdict == "warn" and all(.data.results[]; .wrong == 0) and
            ([.findings[] | select(.check == "coll.graph")] | length == 1 and .[0].status == "warn" and (.[0].fix | length > 0) and
                (.[0].message | contains("rank 0 (") and contains($w)))' <<<"$output" ||
            { echo "$mode: $output"; return 1; }
        silent
    done <<<$'no-capture|cuStreamBeginCapture: CUDA says: \nbad-capture|cuStreamEndCapture: CUDA says: \nno-graph|cuGraphInstantiateWithFlags: CUDA says: out of memory'
    sed 's/cuGraphInstantiateWithFlags/cuGraphInstantiateXXXXFlags/g' "$O/fake/libcuda.so.1" >libcuda.so.1
    LD_LIBRARY_PATH=$PWD:$LD_LIBRARY_PATH run -0 --separate-stderr bench -G 3
    [[ $output == *"# WARN coll.graph: -G: operations are launched one by one from here on, for rank 0 ("*"the driver has no cuGraphInstantiateWithFlags"* ]]
}

@test "-G: an NCCL that refuses to be captured is of no use any more, and says so" {
    WINDSOCK_FAKE_NCCL=no-graphs run -1 --separate-stderr bench -G 3 --json
    jq -e 'any(.findings[]; .check == "nccl.async" and (.message | contains("invalid usage")) and (.fix[0] | contains("leave -G out")))' <<<"$output"
    silent
}

@test "-G: where one rank alone cannot, none does, and it is the one that is named" {
    local port=$((20000 + RANDOM % 10000)) ask
    ask=(--backend nccl -b 1K -e 1K -n 2 -G 3 --deadline 10 --init "tcp://127.0.0.1:$port" --world-size 2)
    WINDSOCK_FAKE_CUDA=no-graph "$B" "${ask[@]}" --rank 1 >other 2>&1 3>&- &
    run -0 --separate-stderr "$B" "${ask[@]}" --rank 0 --json
    wait $!
    jq -e '.verdict == "warn" and any(.findings[]; .check == "coll.graph" and (.message | contains("rank 1 (")))' <<<"$output"
    silent
    [[ $(<other) != *"stand-in"* ]]
}

@test "-G: a rank that dies in a launch is named; a stream that stands still meets the deadline; nothing hangs" {
    WINDSOCK_FAKE_NCCL=replay-death run -1 --separate-stderr bench -G 3
    [[ $output == *"# FAIL rank.alive: rank 1 ("*"killed by signal 9"* ]]
    silent
    WINDSOCK_FAKE_CUDA=stall run -1 --separate-stderr bench --deadline 2 -G 60
    [[ $output == *"# FAIL comm.progress: "*" did not finish within "* ]]
    silent
    # a stream that is full would keep whoever launches more, whatever the deadline
    WINDSOCK_FAKE_CUDA=stall run -1 --separate-stderr timeout 60 "$B" --backend nccl --np 2 -b 1K -e 1K -n 4 -G 300 --deadline 2
    [[ $output == *"# FAIL comm.progress: "*" did not finish within "* ]]
    # by one launch alone, too
    WINDSOCK_FAKE_NCCL=replay-hang run -1 --separate-stderr timeout 60 "$B" --backend nccl --np 2 -b 1K -e 1K -n 3000 -G 2 --deadline 2
    [[ $output == *"# -n 3000: 512 of these iterations are in the graph, "*"# FAIL comm.progress: "*" did not finish within "* ]]
}

# Ten thousand launches take the stand-ins more than a second for each size.
@test "-G: without sizes many launches are counted into the time: later sizes are left out" {
    local start=$SECONDS few
    run -0 --separate-stderr "$B" --backend nccl --np 2 --within 2s -G 10000 --json
    jq -e '.data.results | length | . >= 2 and . <= 6' <<<"$output"
    few=$(jq '.data.results | length' <<<"$output")
    ((SECONDS - start < 20))
    run -0 --separate-stderr "$B" --backend nccl --np 2 --within 2s -G 10 --json
    jq -e --argjson few "$few" '.data.results | length > $few' <<<"$output"
}

@test "-G: what it does not go with is exit 2; in host memory a line says that there are no graphs" {
    local with
    for with in "-z 1" "--for 1s" "--within 5s -b 1M" "--pairs" "-K 2"; do
        # shellcheck disable=SC2086 # options and their values
        run -2 --separate-stderr "$B" --backend nccl -G 2 $with
        [[ $stderr == *"-K leaves nothing of 2 launches (-G)"* || $stderr == *"-G launches all iterations as one, and does not go with ${with%% *}"* ]] || { echo "$with: $stderr"; return 1; }
    done
    # without --backend nobody knows what it will be
    run -0 --separate-stderr "$B" --np 2 -b 1K -e 1K -n 1 -G 2 -z 1
    [[ $output == *" over nccl, "*"# -G does nothing with -z, which waits for each operation"*" graph: 0 "* ]]
    run -0 --separate-stderr "$B" --np 2 -b 1K -e 1K -n 20 -G 2 -K 5
    [[ $output == *"# -K 5 is left out: it leaves nothing of 2 launches (-G)"* ]]
    run -0 --separate-stderr "$B" --np 2 -b 1K -e 1K -n 20 -G 6 -K 5
    [[ $output != *"-K"* ]]
    run -0 --separate-stderr "$B" --np 2 -b 1K -e 1K -n 1 -G 2 --json
    jq -e 'any(.findings[]; .check == "coll.graph" and .status == "pass")' <<<"$output"
    run -0 "$B" --backend tcp -b 8 -e 8 -n 1 -G 2 -z 1
    [[ $output == *"# -G does nothing with tcp: there are no CUDA graphs in host memory"*" graph: 0 "* ]]
}
