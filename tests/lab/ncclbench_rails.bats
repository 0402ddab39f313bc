#!/usr/bin/env bats
# ncclbench --pairs where nodes have several network cards: each rail by itself.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ../nodes.sh

setup_file() { nodes_up 3 --rails 2 --rate 1gbit; }

# Nobody stands out of what was measured, or it says that processors were too busy to know.
healthy() { # PAIRS[ over RAIL]
    local rail=${1#* pair}
    rail=${rail#s}
    [[ $output == *"PASS pair.bandwidth: $1: "* ||
        $output == *"WARN pair.bandwidth: nobody stands out, which says little: even the best pairs$rail waited for processors in "* ]]
}
pairs() { on 0 "$BIN/ncclbench" --hosts 'node[0-2]' --rsh "$LAB rsh $LAB_NAME" "$@"; }

@test "a slow card is named with its node and its rail, the other rail is well" {
    local again # run uses i
    local named="FAIL pair.bandwidth: node2 sends and receives at most 0.01"
    for ((again = 0; again < 10; again++)); do # beside other work one waits longer to know it
        run --separate-stderr "$LAB" run 4 --rails 2 --rate 1gbit --rate node2:eth1=100mbit -- \
            "$BIN/ncclbench" --hosts lab --pairs
        [[ $output == *"processors were busy meanwhile"* || $output != *"$named"* ]] || break
    done
    echo "$output"
    # where others had the processors all the time, that is what it says of that very card
    ((again < 10)) || [[ $output != *"WARN pair.bandwidth: node2 "*" over eth1"*"processors were busy meanwhile"* ]] || return 0
    [ "$status" -eq 1 ]
    [[ $output == *"# Bandwidth, GB/s, eth0 (row to column)"*"# Bandwidth, GB/s, eth1 (row to column)"* ]]
    healthy '6 pairs over eth0'
    [[ $output == *"$named"*" GB/s over eth1 with any partner"* ]]
    [[ $output != *"pair.rail"* ]]
}

@test "two healthy rails: each passes, and each pair is there for both" {
    local again # run uses i
    for ((again = 0; again < 10; again++)); do # beside other work one waits longer to know it
        run -0 --separate-stderr pairs --find-slow --json
        [[ $output == *" waited for processors in "* || $output == *"processors were busy meanwhile"* ]] || break
    done
    jq -r '.findings[] | .check + " " + .status + " " + .message' <<<"$output"
    jq -e --argjson busy "$((again == 10))" '[.findings[] | select(.check | startswith("pair.")) | .check + " " +
            (if $busy == 1 and (.message | contains(" waited for processors in ")) then "pass" else .status end) + " " + .subject] ==
            ["pair.bandwidth pass eth0", "pair.bandwidth pass eth1"] and
        [.data.rails[] | .name] == ["eth0", "eth1"] and
        all(.data.rails[]; .median_gbps > 0 and (.pairs | length == 6)) and
        (.data.pairs | length == 6 and all(.[]; has("lost") and .packets > 0))' <<<"$output"
    run -0 --separate-stderr pairs --pairs --rails eth1 --json
    jq -e '[.data.rails[].name] == ["eth1"]' <<<"$output"
    run -0 --separate-stderr pairs --pairs --rails none --json
    jq -e '(.data | has("rails") | not) and (.data.pairs | length == 6)' <<<"$output"
}

@test "the report has a heat map and the numbers of each rail" {
    local page=$BATS_TEST_TMPDIR/page.html
    run -0 --separate-stderr pairs --find-slow --report "$page"
    [ "$(grep -o '<h3>Bandwidth[^<]*</h3>' "$page" | tr '\n' ,)" = \
        '<h3>Bandwidth between pairs</h3>,<h3>Bandwidth over eth0</h3>,<h3>Bandwidth over eth1</h3>,' ]
    [ "$(grep -c '<svg class="heat".*aria-label="Bandwidth over eth[01]:' "$page")" = 2 ]
    [ "$(grep -c 'The numbers, the slowest first' "$page")" = 3 ]
    grep -q 'of several network cards the worst' "$page"
    run -0 --separate-stderr pairs --find-slow --rails none --report "$page"
    run ! grep -q 'Bandwidth over\|of several network cards' "$page"
}

@test "traffic of a rail goes through its card and no other" {
    local -A before moved
    bytes() { on 1 cat "/sys/class/net/$1/statistics/rx_bytes"; }
    moved_by() { # RAIL: what measuring it brings to each card
        local card
        for card in eth0 eth1; do before[$card]=$(bytes $card); done
        run pairs --pairs --rails "$1"
        ((status <= 1)) || { echo "$output"; return 1; } # how fast it was is not asked here
        for card in eth0 eth1; do moved[$card]=$(($(bytes $card) - before[$card])); done
    }
    moved_by eth1
    ((moved[eth1] > 20 * moved[eth0])) # ranks meet over eth0
    moved_by eth0
    ((moved[eth0] > 20 * moved[eth1]))
}

@test "a rail that is slow everywhere stands out among the rails" {
    run -0 --separate-stderr "$LAB" run 2 --rails 2 --rate 1gbit --rate 0:eth1=100mbit --rate 1:eth1=100mbit -- \
        "$BIN/ncclbench" --hosts lab --find-slow
    [[ $output == *"WARN pair.rail: eth1 reaches at most 0.01"* ]]
}

@test "a rail without a way through is said, and the others are measured" {
    on 1 nft add table inet cut
    on 1 nft add chain inet cut in '{ type filter hook input priority 0; }'
    on 1 nft add rule inet cut in iifname eth1 drop
    run -0 --separate-stderr pairs --pairs --deadline 2
    healthy '3 pairs over eth0'
    [[ $output == *"WARN pair.rail: eth1 was not measured: no connection with rank 1 (node1)"* ]]
    run -1 --separate-stderr pairs --pairs --deadline 2 --rails eth0,eth1
    [[ $output == *"FAIL pair.rail: eth1 was not measured: "* ]]
    on 1 nft flush ruleset
}

@test "cards of another subnet are no rail unless they are named; one that is not there is refused" {
    on 1 ip addr del 10.78.0.2/16 dev eth1
    run -0 --separate-stderr pairs --pairs
    healthy '3 pairs'
    [[ $output != *eth1* ]]
    run --separate-stderr pairs --pairs --rails eth0,eth1
    [ "$status" -eq 2 ]
    [[ -z $output && $stderr == *"--rails: rank 1 (node1) cannot use 'eth1'"* ]] # nothing was begun
    on 1 ip addr add 10.78.0.2/16 dev eth1
}

# As somebody starts two ranks by hand, each with options of its own.
by_hand() { # OPTIONS-OF-RANK-0 OPTIONS-OF-RANK-1 [VARIABLE=VALUE...]
    local cmd=(env "${@:3}" "$BIN/ncclbench" --backend tcp --init tcp://node0:29511 --world-size 2 --pairs --deadline 30s)
    # shellcheck disable=SC2086
    on 1 "${cmd[@]}" --rank 1 $2 >"$BATS_TEST_TMPDIR/1" 2>&1 3>&- &
    # shellcheck disable=SC2086
    run --separate-stderr on 0 "${cmd[@]}" --rank 0 $1
    wait $! || true
}

@test "--bind on one rank alone: no rails for anybody, and the ranks understand each other" {
    local start=$SECONDS
    by_hand '--bind 10.77.0.1' ''
    [ "$status" -eq 0 ]
    healthy '1 pair'
    [[ $output != *eth1* ]]
    by_hand '' '--bind 10.77.0.2'
    [ "$status" -eq 0 ]
    healthy '1 pair'
    [[ $output != *eth1* ]]
    by_hand '--rails eth0,eth1 --bind 10.77.0.1' '--rails eth0,eth1'
    [ "$status" -eq 2 ]
    [[ $stderr == *"--rails is not beside --bind, which rank 0 (node0) was started with"* ]]
    grep -q -e '--rails is not beside --bind, which rank 0 (node0)' "$BATS_TEST_TMPDIR/1"
    ((SECONDS - start < 30))
}

@test "a rank that cannot even listen on a rail is not waited for, and says why" {
    local so=$BATS_TEST_TMPDIR/bind.so
    "${CC:-cc}" -shared -fPIC -o "$so" -x c - <<'C'
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int bind(int fd, const struct sockaddr *at, socklen_t n)
{
	const char *taken = getenv("FAKE_TAKEN");

	if (taken && at->sa_family == AF_INET && !at->sa_data[0] && !at->sa_data[1] &&
	    ((const struct sockaddr_in *)at)->sin_addr.s_addr == inet_addr(taken))
		return errno = EADDRNOTAVAIL, -1;
	return (int)syscall(SYS_bind, fd, at, n);
}
C
    local start=$SECONDS
    by_hand '' '' ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$so" FAKE_TAKEN=10.78.0.2
    [ "$status" -eq 0 ]
    [[ $output == *"WARN pair.rail: eth1 was not measured: cannot listen on 10.78.0.2: "* ]]
    healthy '1 pair over eth0'
    ((SECONDS - start < 25)) # not the deadline
}
