#!/usr/bin/env bats
# ifprobe on more hosts than a command line can name: what stands for them is sshd's place,
# and answers at once.
bats_require_minimum_version 1.5.0
load ifprobe.sh

# Answers of hosts that publish 10.I.J.1, but for the second one; every address but loopback answers.
answers() {
    ifprobe --predict --json | jq -c '.data.predict.nccl.address = "ADDRESS"' >predict.json
    ifprobe --predict --json | jq -c '.data = {suggest: {proof: []}}' >proof.json
    cat >rsh <<'SH'
#!/bin/sh
n=${1##*-} here=$(dirname "$0")
case $2 in
*--predict*)
    a=10.$((n / 250)).$((n % 250)).1
    [ "$n" -ne 2 ] || a=127.0.1.1
    sed "s/ADDRESS/$a/" "$here/predict.json" ;;
*)
    echo "$2" >"$here/asked.$n"
    rows=$(echo "$2" | grep -o '10[.][.0-9]*' | sed 's/.*/,{"address": "&", "state": "refused"}/' | tr -d '\n')
    sed "s/\"proof\":\[\]/\"proof\":[${rows#,}]/" "$here/proof.json" ;;
esac
SH
    chmod +x rsh
}

@test "predict: of more hosts than a command line can name some are tried, and all that cannot be right" {
    local name
    name=$(printf 'n%.0s' {1..60}).$(printf 'c%.0s' {1..60}).$(printf 'm%.0s' {1..60})
    cd "$BATS_TEST_TMPDIR"
    answers
    run -1 --separate-stderr ifprobe --predict --hosts "$name-[1-700]" --rsh ./rsh --json
    jq -e '[.. | strings] | any(contains("700 hosts; 235 of them tried from all"))' <<<"$output"
    [ "$(jq '[.findings[] | select(.check == "predict.reach" and .status == "pass")] | length' <<<"$output")" = 234 ]
    jq -e --arg h "$name-2" '.findings[] | select(.check == "predict.reach" and .status == "fail") |
        .host == $h or .subject == $h' <<<"$output"
    [ "$(wc -c <asked.3)" -lt 131072 ] # Linux' longest argument
}
