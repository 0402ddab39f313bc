#!/usr/bin/env bats
# Readers that go away, streams that are closed, disks that are full: what was lost is
# said, what a run writes besides stdout is written, nothing stays behind.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
    export HOME=$PWD
    mkdir own
    cp "$BIN/windsock" own/
    # whoever reads what windsock says has gone long before the first of them ends
    for name in ifprobe portcheck; do
        printf '#!/bin/sh\nwhile [ -e wait ]; do sleep 0.05; done\necho '\''{"windsock":"0.1.0","schema":1,"command":"%s","host":"h","time":"2026-11-20T11:00:00Z","seconds":0,"verdict":"pass","findings":[{"check":"a.b","status":"%s","message":"m"}],"series":[],"data":{},"nodes":[]}'\''\n' \
            "$name" "$([ $name = ifprobe ] && echo pass || echo fail)" >"own/$name"
        chmod +x "own/$name"
    done
}

# Runs with a stdout that nobody reads any more; the code is the command's.
unread() { # COMMAND...
    touch wait
    bash -c '"$@" | { exec <&-; rm wait; }; exit "${PIPESTATUS[0]}"' - "$@"
}

@test "a reader that has seen enough ends a run quietly, but not one that writes a page or lists" {
    run -141 --separate-stderr unread own/windsock --quick
    [ -z "$stderr" ]
    run -1 --separate-stderr unread own/windsock --quick --report page.html
    [ "$stderr" = "windsock: report: page.html" ]
    grep -q '</html>' page.html
    run -1 --separate-stderr unread own/windsock --quick --json --report other.html
    [ "$stderr" = "windsock: report: other.html" ]
    grep -q '</html>' other.html
    printf '#!/bin/sh\nshift\nexec sh -c "$*"\n' >rsh
    chmod +x rsh
    run -1 --separate-stderr unread own/windsock --quick --hosts na,nb --rsh ./rsh --nodes out/lists
    cat out/lists/failing_nodes.txt >both
    cat out/lists/passing_nodes.txt >>both
    [ "$(sort both | paste -sd,)" = na,nb ]
}

@test "lists that cannot be written are said before the run, not after it" {
    touch file
    run -3 --separate-stderr own/windsock --quick --hosts na --nodes file/sub --rsh "touch $PWD/asked;"
    [[ $stderr == *"cannot write file/sub: folder file: "* ]]
    run -2 --separate-stderr own/windsock --quick --hosts na --nodes '' --rsh "touch $PWD/asked;"
    [[ $stderr == *"--nodes: '' is no name of a folder"* ]]
    mkdir -p out/passing_nodes.txt
    run -3 --separate-stderr own/windsock --quick --hosts na --nodes out --rsh "touch $PWD/asked;"
    [[ $stderr == *"out/passing_nodes.txt is not a regular file"* ]]
    [ ! -e asked ]
}

@test "a page for which the disk is too full: what was tested is told, the page is not there" {
    unshare -m true 2>/dev/null || skip "no private mounts"
    mkdir small
    run -1 --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=16k tmpfs small &&
        { own/windsock --quick --json --report small/page.html; code=$?; ls -A small >left; exit $code; }'
    [[ $stderr == *"cannot replace small/page.html: "*"No space left on device"* ]]
    [ "$(jq -r '[.findings[] | select(.check == "a.b").status] | sort | unique | join(",")' <<<"$output")" = fail,pass ]
    [ ! -s left ]
    # it came to its end, and what it found is told
    run --separate-stderr unshare -m sh -c 'mount -t tmpfs -o size=16k tmpfs small && own/windsock --quick --report small/page.html'
    [[ $output != *"stopped before"* && $output == *"a file was not written, "*": this host only"* ]]
    [[ $stderr == *"cannot replace small/page.html: "*"No space left on device"* ]]
}

@test "what was lost is said, also when the run was ended by its budget" {
    echo 'node0: NCCL WARN Call to connect returned Connection refused' >log
    run -3 --separate-stderr bash -c '"$BIN/ncclwhy" --follow log --budget 700ms >/dev/full'
    [[ $stderr == *"the budget of 700 ms passed"*"; and cannot write to stdout: No space left on device"* ]]
    run -3 --separate-stderr bash -c '"$BIN/ncclwhy" --follow log --budget 700ms >&-'
    [[ $stderr == *"; and cannot write to stdout: Bad file descriptor"* ]]
}

@test "streams that are closed or full: every mode ends by itself, and says so where it can" {
    echo 'node0: NCCL WARN Call to connect returned Connection refused' >log
    for line in ifprobe 'ifprobe --suggest' portcheck 'ncclwhy log' 'ncclwhy -- echo hello' 'windsock --quick'; do
        for json in '' --json; do
            case $line$json in *--*--json) continue ;; esac
            echo "--- $line $json"
            for stream in '>/dev/full' '>&-'; do
                run -3 --separate-stderr timeout 20 bash -c "$BIN/$line $json $stream"
                [[ $stderr == *"stdout: "* || $stderr == *"could be written: "* ]]
                run -3 timeout 20 bash -c "$BIN/$line $json $stream 2>&-"
            done
            expect=0
            [[ $line != "ncclwhy log" ]] || expect=1
            run "-$expect" --separate-stderr timeout 20 bash -c "$BIN/$line $json 2>&-"
            [ -n "$output" ]
            run "-$expect" --separate-stderr timeout 20 bash -c "$BIN/$line $json 2>/dev/full </dev/null"
            [ -n "$output" ]
        done
    done
    [ -z "$(find . -name '*windsock-new*')" ]
}

@test "a home that belongs to somebody else: who may not read it, and how to see why" {
    [ "$(id -u)" = 0 ] || skip "not root: no other user to be"
    mkdir -m 700 secret
    touch secret/.bashrc
    chmod 755 . "$BATS_RUN_TMPDIR"
    run -3 --separate-stderr env HOME="$PWD/secret" setpriv --reuid=65534 --clear-groups --no-new-privs --bounding-set -all \
        "$BIN/ifprobe" --bashrc
    [[ $stderr == *"cannot read $PWD/secret/.bashrc: Permission denied"*"uid 65534 may not"* ]]
}
