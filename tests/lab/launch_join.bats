#!/usr/bin/env bats
# Machines that join a run with a pasted line, and who tries without.
bats_require_minimum_version 1.5.0
load launch.sh

serve() { # OPTIONS...: LINE is what to paste
    : >"$ERR"
    on 0 "$P" --serve "$@" >"$OUT" 2>"$ERR" 3>&- &
    RUN=$!
    wait_for 15 says 1 ' --join ' "$ERR"
    LINE=$(grep -o -- '--join .*' "$ERR")
    read -r _ WHERE CODE <<<"$LINE"
}

@test "--serve: the line joins two machines, whose code is in no process's arguments" {
    serve --wait 2 --np-per-host 2 -- who
    [[ $WHERE == 10.77.0.1:29499 ]]
    on 1 "$P" --join "$WHERE" "$CODE" >join1 2>&1 3>&- &
    wait_for 15 says 1 'joined' join1
    on 0 ps -eo args= >arguments
    grep -qF -- "--join $WHERE" arguments
    run -1 grep -iF -- "$CODE" arguments
    on 2 "$P" --join "$WHERE" <<<"${CODE,,}" >join2 2>&1
    ended 0 8
    [ "$(grep -c '^\[[0-5] node[0-2]\] rank [0-5] of 6' "$OUT")" = 6 ]
    grep -q 'node2\] .* at 10.77.0.3' "$OUT"
    grep -q 'the run is over' join2
}

@test "--serve: a name with two addresses, the first of another machine" {
    serve --wait 1 --no-local -- who
    printf '127.0.0.1 localhost\n10.77.0.3 node0\n10.77.0.1 node0\n' >two
    # shellcheck disable=SC2016 # for that shell
    as=(unshare -m sh -c 'mount --bind two /etc/hosts && exec "$@"' sh)
    run -0 --separate-stderr on 1 "${as[@]}" "$P" --join node0:29499 "$CODE"
    [[ $stderr != *"cannot join"* ]]
    ended 0 8
    run -3 --separate-stderr on 1 "${as[@]}" "$P" --join node0:29499 "$CODE" # it is over
    [[ $stderr == *"cannot join 10.77.0.3:29499: "*"cannot join 10.77.0.1:29499: "*"nobody waits there"* ]]
}

@test "--serve: wrong codes, garbage and strangers cost nothing" {
    serve --wait 1 --no-local --np-per-host 2 -- gather
    run -2 on 1 "$P" --join "$WHERE" AAAA-BBBB
    [[ $output == *"code"* ]]
    run -3 on 1 "$P" --join "$WHERE" "$("$P" --serve --wait-time 100ms --port 29600 2>&1 | sed -n 's/.*--join [^ ]* //p')"
    [[ $output == *"cannot join 10.77.0.1:29499"* ]]
    on 2 bash -c 'for i in $(seq 50); do head -c 500 /dev/urandom >/dev/tcp/node0/29499; done' 2>/dev/null || true
    on 2 bash -c 'exec 9<>/dev/tcp/node0/29499; sleep 20' 3>&- &
    run -0 on 1 "$P" --join "$WHERE" "$CODE"
    ended 0 8
    [ "$(grep -c '40 right' "$OUT")" = 2 ]
}

@test "--serve: nobody comes; the port is taken" {
    run -1 --separate-stderr on 0 "$P" --serve --wait 2 --wait-time 300ms -- who
    [[ $stderr == *"none of the 2 other machines joined within 300 ms"* ]]
    serve --wait 1 -- who
    run -3 --separate-stderr on 0 "$P" --serve --port 29499 -- who
    [[ $stderr == *29499* ]]
    run -3 on 2 "$P" --join node1:29499 "$CODE"
    [[ $output == *"cannot join 10.77.0.2:29499"* ]]
    on 0 kill -TERM "$(launcher)"
    ended 3 8
}

@test "--serve: a machine that cannot start its ranks says so itself, too, and that ssh is no way to it" {
    mkdir alone
    cp "$BIN/portcheck" alone/another # beside it there is no rank_probe
    serve --wait 1 -- who
    run -3 on 1 "$PWD/alone/another" --join "$WHERE" "$CODE"
    [[ $output == *"cannot start $PWD/alone/rank_probe: No such file or directory"* ]]
    ended 1 8 "cannot start $PWD/alone/rank_probe: No such file or directory on node1"
}

@test "--serve: nobody who came could take part: the sentence says who came, and why not" {
    version=$("$P" --version | awk '{ print $NF }')
    sed "s/${version//./\\.}/9.9.9/g" "$P" >other
    chmod +x other
    serve --wait 1 --wait-time 2s -- who
    run -3 on 1 "$PWD/other" --join "$WHERE" "$CODE"
    ended 1 8 'the other machine did not join within 2 s; 10.77.0.2 was sent away, and told: "this is version 9.9.9 '
}

@test "a joined machine leaves, and the server goes: both ends end" {
    serve --wait 1 --heartbeat 2 -- hang
    on 1 "$P" --join "$WHERE" "$CODE" >join1 2>&1 3>&- &
    JOINED=$!
    wait_for 15 says 2 ' pid ' "$OUT"
    on 0 kill -9 "$(ours | awk '$4 == "--join" { print $1 }' | tail -n 1)"
    ended 1 8 "failed: "
    wait "$JOINED" || true
    serve --wait 1 -- hang
    on 1 "$P" --join "$WHERE" "$CODE" >join1 2>&1 3>&- &
    JOINED=$!
    wait_for 15 says 2 ' pid ' "$OUT"
    on 0 kill -9 "$(ours | awk '$4 == "--serve" { print $1 }' | head -n 1)"
    wait "$RUN" "$JOINED" || true
    wait_for 15 nothing_left || { ours; false; }
    grep -q 'the launcher is gone' join1
}

@test "Ctrl-C at a machine that joined is one of the run, and the launcher's is one there" {
    joins() { # a machine on node1, with JOINED
        on 1 "$P" --join "$WHERE" "$CODE" >join1 2>&1 3>&- &
        JOINED=$!
        wait_for 15 says 1 'joined' join1
    }
    at_join() { ours | awk '$4 == "--join" { print $1 }' | head -n 1; }
    serve --wait 1 -- hang
    joins
    wait_for 15 says 2 ' pid ' "$OUT"
    on 0 kill -INT "$(at_join)"
    ended 3 8
    run -1 grep -E 'lost|died|ssh' "$ERR"
    run -3 wait "$JOINED"
    # also before it began, and where it never began
    serve --wait 2 --wait-time 60s -- who
    joins
    on 0 kill -TERM "$(ours | awk '$4 == "--serve" { print $1 }' | head -n 1)"
    ended 3 8
    run -3 wait "$JOINED"
    grep 'the run is over: it was interrupted' join1
    serve --wait 2 --wait-time 1s -- who
    joins
    ended 1 8 "1 of the 2 other machines joined"
    run -1 wait "$JOINED"
    grep 'the run is over: it failed' join1
}

@test "the code of a run that is over opens nothing any more" {
    serve --wait 1 --no-local -- who
    old=$CODE
    run -0 on 1 "$P" --join "$WHERE" "$CODE"
    ended 0 8
    run -3 on 1 "$P" --join "$WHERE" "$old"
    [[ $output == *"cannot join 10.77.0.1:29499: "* ]]
    serve --wait 1 --no-local -- who
    [ "$CODE" != "$old" ]
    run -3 on 1 "$P" --join "$WHERE" "$old"
    [[ $output == *"cannot join 10.77.0.1:29499: "* ]]
    run -0 on 1 "$P" --join "$WHERE" "$CODE"
    ended 0 8
}

@test "with windsock beside it the line is windsock's; a machine that has not the command says so" {
    mkdir bin alone
    cp "$P" "$BIN/windsock" bin
    cp "$BIN/windsock" alone
    P=$PWD/bin/rank_probe
    for folder in bin alone; do
        : >"$ERR" # else the line of the run before may be read
        on 0 "$P" --serve --wait 1 --no-local --np-per-host 2 -- gather >"$OUT" 2>"$ERR" 3>&- &
        RUN=$!
        wait_for 15 says 1 'windsock join 10.77.0.1:29499 ' "$ERR"
        read -ra line <<<"$(grep -o 'windsock join .*' "$ERR")"
        run on 1 env PATH="$PWD/$folder:$PATH" "${line[@]}"
        if [ $folder = bin ]; then
            [ "$status" = 0 ]
            ended 0 8
            [ "$(grep -c '40 right' "$OUT")" = 2 ]
        else
            ended 1 8 "cannot start $PWD/alone/rank_probe: No such file or directory on node1"
        fi
    done
}

@test "--serve: a machine that joined and is gone while others are awaited is said at once, and may come back" {
    serve --wait 2 --wait-time 60s -- who
    on 1 "$P" --join "$WHERE" "$CODE" >join1 2>&1 3>&- &
    wait_for 15 says 1 'joined' join1
    on 0 kill -9 "$(ours | awk '$4 == "--join" { print $1 }' | tail -n 1)"
    wait_for 15 says 1 'lost node1: .*; its place is free again' "$ERR"
    on 2 "$P" --join "$WHERE" "$CODE" >join2 2>&1 3>&- & # no second one yet
    wait_for 15 says 1 'joined' join2
    run -1 grep -q 'rank' "$OUT"
    run -0 on 1 "$P" --join "$WHERE" "$CODE"
    ended 0 8
    [ "$(grep -o '^\[[0-2] node[0-2]\]' "$OUT" | sort | xargs)" = "[0 node0] [1 node2] [2 node1]" ]
    [ "$(grep -c lost "$ERR")" = 1 ]
}
