#!/usr/bin/env bats
# ncclbench's verdict where the cloud says which instance it is: a stand-in for EC2's
# metadata service inside a node of the lab. What is judged comes from the type, since
# the node's card (as EC2's) reports no speed that means anything.
# shellcheck disable=SC2154,SC2016
bats_require_minimum_version 1.5.0
load ../nodes.sh
load cloud.sh

setup_file() { nodes_up 2 --rate 1gbit; }

setup() {
    unset "${!AWS_@}"
    LOG=$BATS_TEST_TMPDIR/imds.log
    : >"$LOG"
}

teardown() {
    [ ! -s "$BATS_TEST_TMPDIR/pid" ] || on 0 kill "$(<"$BATS_TEST_TMPDIR/pid")"
    wait "${SERVER:-}" 2>/dev/null || :
}

serve() { # ADDRESS CMD...: what listens there on port 80, until the end of the test
    on 0 sh -c 'echo $$ >"$0"; exec "$@"' "$BATS_TEST_TMPDIR/pid" "${@:2}" >/dev/null 2>&1 3>&- </dev/null &
    SERVER=$!
    wait_for on 0 bash -c "exec 3<>/dev/tcp/$1/80"
}

imds() { # ADDRESS OPTION...: a metadata service, EC2's unless KIND is set
    serve "$1" "$ROOT/tests/lab/imds_server" "$1" 80 "${KIND:-aws}" "${@:2}" --log "$LOG"
}

bench() { # EXIT-CODE ENV... -- ARGS...: node0 with node1; only node0 has ENV
    local env=() code=$1
    shift
    while [ "$1" != -- ]; do env+=("$1") && shift; done
    run "-$code" --separate-stderr on 0 env "${env[@]}" "$BIN/ncclbench" --hosts node0,node1 -b 16M -e 16M -n 3 --json "${@:2}"
}

@test "less than the instance type grants is a failure, with the reasoning; only what is needed is asked" {
    imds 127.0.0.1 --type g5.2xlarge
    bench 1 AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 --
    jq -e '.data.expected | .instance == "g5.2xlarge" and .busbw == 0.625 and
        (.why | startswith("g5.2xlarge has 5 Gb/s at all times (its card reports no speed), 1 rank on each of 2 hosts"))' <<<"$output"
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .status == "fail" and .value < 0.15 and
        (.message | test("of what is always there \\(g5.2xlarge has 5 Gb/s"))' <<<"$output"
    [ "$(sort -u "$LOG" | grep -c .)" = 2 ] # a token and the type
    [ "$(grep -c instance-type "$LOG")" = 1 ] # by one rank of the host
}

@test "as much as the instance type grants is a pass" {
    imds 127.0.0.1 --type t3.large
    bench 0 AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 -- --np-per-host 2
    jq -e '.data.expected.instance == "t3.large"' <<<"$output"
    [ "$(jq -r '.findings[] | select(.check == "coll.bandwidth").status' <<<"$output")" = pass ]
    [ "$(grep -c instance-type "$LOG")" = 1 ]
}

@test "a type in no table is not judged, and that is said" {
    imds 127.0.0.1 --type z99.huge
    bench 0 AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 --
    jq -e '.data.expected | has("busbw") | not' <<<"$output"
    jq -e '.findings[] | select(.check == "coll.bandwidth") | .status == "info" and (.message | test("z99.huge is not in the table"))' <<<"$output"
}

@test "switched off, off the cloud, and on one host nothing is asked" {
    imds 127.0.0.1 --type g5.2xlarge
    bench 0 AWS_EC2_METADATA_DISABLED=true AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 --
    jq -e '.data.expected | has("instance") or has("busbw") | not' <<<"$output"
    on 0 ip addr add 169.254.169.254/32 dev lo
    on 0 nft -f - <<'N'
table inet counted { chain out { type filter hook output priority 0; policy accept;
 ip daddr 169.254.169.254 counter comment "metadata"; }; }
N
    bench 0 --
    run -0 on 0 nft list table inet counted
    [[ $output == *"packets 0 bytes 0 comment \"metadata\""* ]]
    on 0 nft delete table inet counted
    on 0 ip addr del 169.254.169.254/32 dev lo
    run -0 --separate-stderr on 0 env AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 "$BIN/ncclbench" --np 2 -b 8 -e 8 --json
    [ ! -s "$LOG" ]
}

on_machine() { # FILE=TEXT: node0 with node1, where node0's DMI says so
    run -1 --separate-stderr on 0 "${AS_MACHINE[@]}" "$BATS_TEST_TMPDIR" "$1" "$BIN/ncclbench" --hosts node0,node1 -b 16M -e 16M -n 3 --json
}

@test "on an instance, by its DMI, at the true address: EC2 and Google" {
    [ "$(id -u)" = 0 ] || skip "not root"
    on 0 ip addr add 169.254.169.254/32 dev lo
    imds 169.254.169.254 --type g5.2xlarge
    on_machine "sys_vendor=Amazon EC2"
    jq -e '.data.expected.instance == "g5.2xlarge"' <<<"$output"
    teardown
    : >"$LOG"
    KIND=gcp imds 169.254.169.254
    on_machine "product_name=Google Compute Engine"
    jq -e '.data.expected | .instance == "a3-highgpu-8g" and
        (.why | test("4 network cards of 200 Gb/s, and TCP uses one: 200 Gb/s; of a rank, one thread, 10 are asked"))' <<<"$output"
    [ "$(cat "$LOG")" = "GET /computeMetadata/v1/instance/machine-type 200" ]
    on 0 ip addr del 169.254.169.254/32 dev lo
}

@test "a service that accepts and never answers delays nothing: the run is judged without it" {
    serve 127.0.0.1 python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 80))
kept = []
while True: kept.append(s.accept())'
    bench 0 AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1 --
    jq -e '(.data.expected | has("instance") | not) and .seconds < 10' <<<"$output"
    [ "$(jq -r '.findings[] | select(.check == "coll.bandwidth").status' <<<"$output")" = info ]
}
