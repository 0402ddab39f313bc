#!/usr/bin/env bats
# ncclwhy --hosts: logs and dumps are read where they lie, and judged together. A way that gives
# each host a home folder of its own stands for ssh; tests/lab/ncclwhy_hosts.bats has real ones.
# shellcheck disable=SC2016,SC2088 # the other side expands
bats_require_minimum_version 1.5.0

setup() {
    why=$BIN/ncclwhy
    cd "$BATS_TEST_TMPDIR" || return
    cat >rsh <<'END'
#!/bin/sh
host=$1
shift
[ "$host" != gone ] || { echo "ssh: connect to host gone port 22: No route to host" >&2; exit 255; }
echo "Welcome to $host" # as a login may
cd "${0%/*}/$host" && HOME=$PWD exec sh -c "$*"
END
    chmod +x rsh
    mkdir a b c
    export TMPDIR=$PWD/tmp
    mkdir tmp
    dumps=$BATS_TEST_TMPDIR/all
}

why() { # STATUS ARGS...
    local status=$1
    shift
    run "-$status" --separate-stderr "$why" --rsh ./rsh "$@"
}

@test "the dumps of hosts are judged together, and nothing is left behind" {
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent "$dumps"
    run -1 --separate-stderr "$why" --json "$dumps"
    want=$(jq -c '[.data.causes[] | [.id, .confidence]]' <<<"$output")
    n=0
    for f in "$dumps"/*; do
        host=$(cut -c $((n % 3 + 1)) <<<abc)
        mkdir -p "$host/tmp of job"
        mv "$f" "$host/tmp of job/"
        n=$((n + 1))
    done
    why 1 --json --hosts a,b,c '~/tmp of job/*'
    valid
    [ "$(jq -c '[.data.causes[] | [.id, .confidence]]' <<<"$output")" = "$want" ]
    jq -e --arg n "$n" '(.data.flight.dumps | length | tostring) == $n
        and ([.data.flight.dumps[].file | split(":")[0]] | unique == ["a", "b", "c"])' <<<"$output"
    [ -z "$(ls tmp)" ]
    # without one host its ranks are missing, and it is named; the others are judged all the same
    why 1 --json --hosts a,gone,c '~/tmp of job/*'
    jq -e '[.findings[] | select(.check == "host.answer" and .status == "fail") | .subject] == ["gone"]
        and (.data.flight.dumps | length > 0)' <<<"$output"
    # a host without such a file
    mv 'b/tmp of job' b/elsewhere
    why 1 --hosts a,b,c '~/tmp of job/*'
    [[ $output == *"warn  log.file"*"~/tmp of job/*"*"nothing is called so on b"* ]]
}

@test "killed while it reads, it leaves nothing of the hosts behind" {
    printf '#!/bin/sh\n: >asked\nexec sleep 60\n' >slow
    chmod +x slow
    "$why" --rsh ./slow --hosts a,b '/x/*.log' >out 2>&1 3>&- &
    for ((i = 0; i < 200; i++)); do
        [ ! -e asked ] || break
        sleep 0.05
    done
    [ -n "$(ls tmp)" ]
    kill -KILL $!
    for ((i = 0; i < 200; i++)); do
        [ -n "$(ls tmp)" ] || return 0
        sleep 0.05
    done
    false
}

@test "logs: the host of each line is known, and names may be anything a shell knows" {
    name="it's \"the\" \$(touch owned) log; [1]"
    echo 'RuntimeError: No CUDA GPUs are available' >"b/$name"
    echo 'step 1' | tee "a/$name" >"c/$name"
    why 1 --json --hosts a,b,c "~/$name"
    jq -e --arg file "b:$PWD/b/$name" '.data.causes[0] | .host == "b" and .file == $file' <<<"$output"
    jq -e '.data.log.files | length == 3' <<<"$output"
    [ -z "$(find . -name owned)" ]
    # a line that says its host itself is believed
    echo 'node7:40:41 [0] NCCL WARN Cuda failure 802' >"b/$name"
    why 1 --json --hosts a,b,c "~/$name"
    jq -e '.data.causes[0].host == "node7"' <<<"$output"
    # a pattern is expanded there
    mv "b/$name" b/x1.log
    why 1 --json --hosts a,b '~/x[0-9].log' '~/none'
    jq -e '.data.log.files == ["b:" + $ENV.PWD + "/b/x1.log"]' <<<"$output"
    jq -e '[.findings[] | select(.check == "log.file") | .subject] | sort == ["~/none", "~/x[0-9].log"]' <<<"$output"
}

@test "folders there: torchrun's, of each node; what is no log does not travel" {
    for host in a b; do
        mkdir -p $host/logs/none_$host/attempt_0/1 $host/logs/none_$host/attempt_1/1 $host/logs/.git
        echo 'step 1' | tee $host/logs/none_$host/attempt_0/1/stderr.log >$host/logs/none_$host/attempt_1/1/stdout.log
        echo secret | tee $host/logs/weights.pt >$host/logs/.git/x
    done
    echo 'RuntimeError: No CUDA GPUs are available' >b/logs/none_b/attempt_1/1/stderr.log
    why 1 --hosts a,b --save kept '~/logs'
    [[ $output == *"(line 1 of b:$PWD/b/logs/none_b/attempt_1/1/stderr.log): local rank 1 of b, attempt 1: RuntimeError"* ]]
    [[ $stderr == *"earlier attempts of torchrun; it is read where it is named: "*"attempt_0"* && $stderr != *kept/a* ]]
    [[ $stderr == *"kept in kept; again: ncclwhy kept"* ]]
    [ -e "kept/b$PWD/b/logs/none_b/attempt_1/1/stderr.log" ]
    [ -z "$(find kept -name '*.pt' -o -name x)" ]
    run -1 --separate-stderr "$why" kept
    [[ $output == *"local rank 1 of b, attempt 1: RuntimeError"* ]]
    why 2 --hosts a,b --save kept '~/logs' # nothing is overwritten
    [[ $stderr == *"kept: that is there already"* ]]
}

@test "links of a folder there to files elsewhere are read, as of one here" {
    mkdir -p a/pods/1 'a/all of them/sub' b/pods
    echo 'RuntimeError: No CUDA GPUs are available' >a/pods/1/0.log
    cp "$why" a/pods/weights.pt
    echo 'step 1' >'a/all of them/sub/own.log'
    (cd 'a/all of them' && ln -s ../pods/1/0.log "it's a.log" && ln -s sub/own.log last.log && ln -s ../pods/weights.pt . &&
        ln -s ../pods away && ln -s nowhere gone)
    why 1 --json --hosts a '~/all of them' --save kept
    jq -e --arg there "a:$PWD/a/all of them" '.data.causes[0].host == "a"
        and .data.log.files == [$there + "/" + ("it" + "\u0027" + "s a.log", "sub/own.log")]' <<<"$output"
    [ "$(find kept/a -type f | wc -l)" = 2 ]
}

@test "a folder that hosts share is read once, and of no host" {
    echo 'RuntimeError: No CUDA GPUs are available' >shared.log
    why 1 --json --hosts a,b,c "$PWD/shared.log"
    jq -e '.data.causes[0] | .count == 1 and (has("host") | not)' <<<"$output"
    jq -e '.data.log.files == ["a:" + $ENV.PWD + "/shared.log"]' <<<"$output"
    [[ $stderr == *"2 files of a folder that hosts share: read once"* ]]
}

@test "what --save kept is read again as it was: hidden folders too, and whose each is" {
    python3 "$ROOT/tests/cli/ncclwhy_flight.py" absent "$dumps"
    n=0
    for f in "$dumps"/*; do
        host=$(cut -c $((n % 2 + 1)) <<<ab)
        mkdir -p "$host/.cache/torch"
        mv "$f" "$host/.cache/torch/comm_lib_trace_rank_${f##*_}"
        n=$((n + 1))
    done
    echo 'step 1' >a/t.log
    echo 'RuntimeError: No CUDA GPUs are available' >b/t.log
    echo 'step 1' >common.log
    why 1 --json --hosts a,b --save kept '~/.cache/torch/comm_lib_trace_rank_*' '~/t.log' "$PWD/common.log"
    [[ $stderr == *"kept in kept; again: ncclwhy kept"* ]]
    want=$(jq -c '[.data.causes[] | [.id, .host, .confidence]]' <<<"$output")
    run -1 --separate-stderr "$why" --json kept
    [ "$(jq -c '[.data.causes[] | [.id, .host, .confidence]]' <<<"$output")" = "$want" ]
    jq -e --argjson n "$n" '(.data.flight.dumps | length) == $n and (.data.log.files | length) == 3
        and ([.data.causes[] | select(.host == "b")] | length > 0)' <<<"$output"
    [ -z "$stderr" ]
    # what they share is nobody's
    cp b/t.log common.log
    why 1 --hosts a,b --save other "$PWD/common.log"
    run -1 --separate-stderr "$why" --json other
    jq -e '.data.causes[0] | has("host") | not' <<<"$output"
    # a hidden part of another folder stays hidden
    mkdir -p mine/.git
    cp b/t.log mine/.git
    run -3 --separate-stderr "$why" mine
}

@test "what is too large comes as its beginning and its end, and that is said" {
    { echo 'the beginning'; yes 'nothing to see here' | head -c 30000000; echo; echo 'RuntimeError: No CUDA GPUs are available'; } >a/long.log
    echo 'step 1' >a/short.log
    why 1 --hosts a '~/*.log'
    [[ $output == *"RuntimeError: No CUDA GPUs are available"* ]]
    [[ $stderr == *"the beginning and the end alone were read of 1 file, such as a:$PWD/a/long.log ("*" bytes"* ]]
}

@test "nothing anywhere is no verdict; what does not go together is refused" {
    why 3 --hosts a,b '~/none*'
    [[ $output == *"nothing is called so on"* && $stderr == *"no host has a file"* ]]
    why 3 --hosts a,b --save kept '~/none*' # and nothing is kept, nor said to be
    [[ ! -e kept && $stderr != *kept* ]]
    mkdir kept
    why 3 --hosts a,b --save kept '~/none*'
    [[ -d kept && $stderr != *kept* ]]
    why 2 --hosts a,b --save '' '~/none*'
    [[ ! $output && $stderr == *"'' is no name of a folder"* ]]
    why 1 --hosts gone '~/none*'
    [[ $output == *host.answer*gone* ]]
    for wrong in '--hosts a' '--hosts a -' '--hosts a --follow x' '--save x y' '--confirm --hosts a --save x y'; do
        # shellcheck disable=SC2086 # words
        why 2 $wrong
        [[ ! $output ]]
    done
    # what is there and cannot be read is said, and the rest is
    gzip -c <<<'RuntimeError: No CUDA GPUs are available' >b/packed.log
    echo 'step 1' >c/packed.log
    why 3 --hosts b,c '~/packed.log'
    [[ $stderr == *" b:$PWD/b/packed.log is compressed"* && $output == *"a file was not read: 1 line of 1 log" ]]
    echo x >b/x
    mkdir c/x
    why 0 --hosts b,c '~/x'
    [[ $stderr != *rror* ]]
}

@test "names that no file can have here cost what has them, not what the other hosts say" {
    cat >odd <<'END'
#!/bin/sh
[ "$1" = odd ] || exec ./rsh "$@"
shift
export PATH="$PWD/bin:$PATH"
exec sh -c "$*"
END
    mkdir bin
    cat >bin/sh <<'END' # the errand's own is said as it is; what it runs is not
#!/bin/bash
[[ $2 == cwd=* ]] || exec /bin/sh "$@"
frame() { printf 'file 0 2 2 0 0 %s\n%s\nx\n' "${#1}" "$1"; }
frame "/$(printf '%0300d' 0)"
frame /f
frame /f/below
echo end
END
    chmod +x odd bin/sh
    echo 'RuntimeError: No CUDA GPUs are available' >b/x.log
    run -1 --separate-stderr "$why" --rsh ./odd --json --hosts odd,b '~/x.log'
    valid
    jq -e '.data.causes[0].host == "b" and .data.log.files == ["odd:/f", "b:" + $ENV.PWD + "/b/x.log"]' <<<"$output"
    jq -e '[.findings[] | select(.check == "log.file" and .status == "warn")] | length == 1
        and (.[0].message | startswith("was not read on odd, nor 1 more"))' <<<"$output"
}

@test "what hosts had sent when the budget passed is read, and reported" {
    cat >slow <<'END'
#!/bin/sh
case $1 in b*) sleep 20 ;; *) exec ./rsh "$@" ;; esac
END
    chmod +x slow
    echo 'RuntimeError: No CUDA GPUs are available' >a/t.log
    began=$SECONDS
    run -3 --separate-stderr "$why" --budget 1500ms --rsh ./slow --hosts a,b --json '~/t.log'
    ((SECONDS - began < 8))
    jq -e '.data.causes[0].host == "a" and ([.findings[] | select(.check == "host.answer") | [.subject, .status]] == [["b", "skip"]])' <<<"$output"
    [[ $stderr == *"the budget of 1.5 s passed; what was finished is reported"* ]]
    [ -z "$(ls tmp)" ]
}
