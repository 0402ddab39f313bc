#!/usr/bin/env bats
# windsock --full: what each stage asks, who is named when two measurements agree and
# when they do not, a host that computes slowly, budgets. The siblings are stand-ins;
# the hosts are names for this machine, which a stand-in for ssh "reaches".
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    SANITIZED=${WINDSOCK_SANITIZED-}
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
    mkdir own
    cp "$BIN/windsock" own/
    printf '#!/bin/bash\nshift\nexec sh -c "$*"\n' >rsh
    chmod +x rsh
    for name in ifprobe portcheck ncclbench ddpsmoke; do
        stand_in "$name" "$(say "$name" "$(finding "$name.test" pass "$name says pass")")"
    done
}

stand_in() { # COMMAND SCRIPT: what the sibling does; it notes what it was asked between hosts
    printf '#!/bin/bash\n[[ "$*" != *--hosts=* ]] || echo "%s $*" >>"%s/calls"\ncase "$*" in --help) echo " --hosts "; exit;; esac\n%s\n' \
        "$1" "$PWD" "$2" >"own/$1"
    chmod +x "own/$1"
}

say() { # COMMAND FINDINGS [DATA]: a line of shell that answers so
    printf "printf '%%s' '%s'" "$(printf '{"windsock":"0.1.0","schema":1,"command":"%s","host":"%s","time":"2026-11-20T11:00:00Z","seconds":0,"verdict":"pass","findings":[%s],"series":[],"data":%s,"nodes":[]}' \
        "$1" "$(uname -n)" "$2" "${3:-"{}"}")"
}

finding() { # CHECK STATUS MESSAGE [SUBJECT]
    printf '{"check":"%s","status":"%s","subject":"%s","host":"%s","message":"%s","fix":["fix-%s"]}' \
        "$1" "$2" "${4:-x}" "$(uname -n)" "$3" "$1"
}

windsock() {
    PATH=/usr/bin:/bin own/windsock --rsh "$PWD/rsh" --hosts na,nb,nc,nd --json "$@"
}

of() { # FILTER of the findings with this CHECK
    jq -r --arg c "$1" ".findings[] | select(.check == \$c) | $2" <<<"$output"
}


paces() { # RATES...: ddpsmoke's data of four ranks
    local i ranks="" names=""
    for i in 0 1 2 3; do
        names+="${names:+,}{\"rank\":$i,\"host\":\"n$(printf abcd | cut -c $((i + 1)))\"}"
        ranks+="${ranks:+,}{\"rank\":$i,\"compute_samples_per_s\":$1,\"samples_per_s\":90,\"seconds\":{\"forward\":0.5,\"exchange\":3}}"
        shift
    done
    printf '{"world":{"ranks":[%s]},"model":{"batch":32,"parameters":1000},"throughput":{"ranks":[%s],"samples_per_s":360,"alone_samples_per_s":1000}}' \
        "$names" "$ranks"
}

@test "two hosts that each shut out a third: they are to be left out, not it" {
    cells='{"matrix":{"hosts":["na","nb","nc","nd"],"cells":[["self","none","none","ok"],["ok","self","ok","ok"],["ok","ok","self","ok"],["ok","ok","ok","self"]]}}'
    stand_in portcheck "case \"\$*\" in *--hosts*) $(say portcheck "$(finding mesh.in fail 'is not reached from na: a rule' nb),$(finding mesh.in fail 'is not reached from na: a rule' nc)" "$cells"); exit 1;; esac; $(say portcheck "$(finding ports.test pass fine)")"
    local limit='ulimit -v 4000000;'
    [[ ! $SANITIZED ]] || limit='' # AddressSanitizer's shadow is larger
    run -1 --separate-stderr timeout -k 1 20 bash -c "$limit PATH=/usr/bin:/bin exec own/windsock --rsh '$PWD/rsh' --hosts na,nb,nc,nd --json --quick"
    valid
    [ "$(jq -c .data.failing_nodes <<<"$output")" = '["nb","nc"]' ]
}

@test "a host that was silent in one run only is a warning; in two it fails" {
    silent=$(say portcheck "$(finding mesh.run fail 'rank 1 (nb) has been silent for 10 s')")
    well=$(say portcheck "$(finding mesh.reach pass 'all of them')" '{"matrix":{"hosts":["na","nb"],"cells":[["self","ok"],["ok","self"]]}}')
    # shellcheck disable=SC2016 # the stand-in expands
    stand_in portcheck '[[ "$*" == *--hosts=* ]] || { '"$well"'; exit; }
        echo x >>"'"$PWD"'/turns"; [ "$(wc -l <"'"$PWD"'/turns")" = 1 ] || { '"$well"'; exit; }
        '"$silent"'; exit 1'
    run -0 --separate-stderr windsock --quick
    valid
    [ "$(wc -l <turns)" = 2 ]
    [[ $(of mesh.run '"\(.status) \(.message)"') == "warn rank 1 (nb) has been silent for 10 s (in the first of two runs; not in the second)" ]]
    [ "$(jq -r '.data.passing_nodes | length' <<<"$output")" = 4 ]
    [ "$(jq -r '.data.parts.reach.matrix.hosts | length' <<<"$output")" = 2 ]
    stand_in portcheck '[[ "$*" == *--hosts=* ]] || { '"$well"'; exit; }
        echo x >>"'"$PWD"'/turns"; '"$silent"'; exit 1'
    run -1 --separate-stderr windsock --quick
    [ "$(wc -l <turns)" = 4 ]
    [ "$(of mesh.run .status | sort -u)" = fail ]
    # the second one comes to nothing: what the first one found holds
    cut='{"matrix":{"hosts":["na","nb","nc"],"cells":[["self","none","ok"],["none","self","none"],["ok","none","self"]]}}'
    silent=$(say portcheck "$(finding mesh.run fail 'rank 1 has been silent for 10 s')" "$cut")
    rm turns
    stand_in portcheck '[[ "$*" == *--hosts=* ]] || { '"$well"'; exit; }
        echo x >>"'"$PWD"'/turns"; [ "$(wc -l <"'"$PWD"'/turns")" = 1 ] || exit 3
        '"$silent"'; exit 1'
    run -1 --separate-stderr windsock --quick
    [ "$(jq -c '[.data.failing_nodes, (.data.parts.reach.matrix.hosts | length)]' <<<"$output")" = '[["nb"],3]' ]
}

@test "full: every stage in its order, each command asked for what it is for" {
    run -0 --separate-stderr windsock --full
    valid
    [ "$(cut -d' ' -f1 calls | paste -sd,)" = portcheck,ifprobe,ncclbench,ddpsmoke,ncclbench,ncclbench,ncclbench,ddpsmoke ]
    grep -q '^ncclbench .*--minbytes=8 --maxbytes=4M --within=20000ms --hosts=n\[a-d\]\|^ncclbench .*--maxbytes=4M --within=20000ms --hosts=na,nb,nc,nd' calls
    [ "$(grep -n -- '--pairs --together' calls | cut -d: -f1)" = 5 ]
    [ "$(grep -n -- '--find-slow' calls | cut -d: -f1)" = 6 ]
    [ "$(grep -n -- '--maxbytes=1G --within=' calls | cut -d: -f1)" = 7 ]
    grep -q '^ddpsmoke .*--epochs=8 --expect=90 --samples=2560 ' calls
    [ "$(jq -r '.data.stages[].name' <<<"$output" | tail -n 4 | paste -sd,)" = pairs,find-slow,sweep,expectations ]
    [ "$(jq -r '.data.parts | keys_unsorted | join(",")' <<<"$output")" = \
        reach,paths,collectives,training,pairs,find-slow,sweep,expectations ]
    [ "$(jq '[.findings[]] | length' <<<"$output")" = "$(jq '[.data.stages[].findings] | add' <<<"$output")" ]
    [[ $(jq -r .data.covers <<<"$output") == *"with pairs, long sweeps and training" ]]
    # what several stages measure can be told apart
    [ "$(of ncclbench.test .subject | paste -sd,)" = "x,x (pairs),x (find-slow),x (sweep)" ]
    [ "$(of ddpsmoke.test .subject | paste -sd,)" = "x,x (expectations)" ]
    rm calls
    run -0 windsock # the default tier has none of it
    [ "$(cut -d' ' -f1 calls | paste -sd,)" = portcheck,ifprobe,ncclbench,ddpsmoke ]
    rm calls
    run windsock --deadline 50ms # its part is less than what --within takes
    grep -q '^ncclbench' calls
    run ! grep -e --within calls
}

@test "a rank that is waited for: whether its node or a link is slow, a longer run of these hosts tells" {
    stand_in ncclbench "$(say ncclbench "$(finding rank.straggler warn 'the others wait for rank 2')")"
    run -0 --separate-stderr windsock
    [[ $(of rank.straggler '.fix[0]') == "windsock --full --rsh $PWD/rsh --hosts na,nb,nc,nd   # measures every pair"* ]]
    [ "$(of rank.straggler '.fix[1]')" = fix-rank.straggler ]
    run -0 --separate-stderr windsock --full # which is that run
    [ "$(of rank.straggler '.fix[0]' | sort -u)" = fix-rank.straggler ]
}

@test "this host alone: what takes two hosts is not measured, the sweep and training are" {
    run -0 --separate-stderr env PATH=/usr/bin:/bin own/windsock --full --json
    valid
    [ "$(of stage.pairs .status),$(of stage.find-slow .status)" = skip,skip ]
    [[ $(of stage.pairs .message) == "not measured: it takes two hosts" ]]
    [ "$(jq -r '.data.parts | keys_unsorted | join(",")' <<<"$output")" = \
        interface,settings,ports,collectives,training,sweep,expectations ]
}

@test "who stands out in both measurements is a failure and the first cause" {
    slow=$(finding pair.bandwidth fail 'nb sends at most 0.1 GB/s' nb)
    stand_in ncclbench "case \"\$*\" in *--pairs*|*--find-slow*) $(say ncclbench "$slow"); exit 1;; esac
        $(say ncclbench "$(finding coll.data pass fine)")"
    run -1 --separate-stderr windsock --full
    valid
    [ "$(jq -r '.data.causes[0] | "\(.stage) \(.check) \(.subject) \(.fix[0])"' <<<"$output")" = \
        "find-slow pair.bandwidth nb fix-pair.bandwidth" ]
    # one cause is one line, and no warning beside it
    [ "$(of pair.bandwidth '"\(.status) \(.message)"')" = "fail nb sends at most 0.1 GB/s, in both of two measurements" ]
    [ "$(jq '[.data.causes[] | select(.check == "pair.bandwidth")] | length' <<<"$output")" = 1 ]
    [ "$(of stage.pairs .status)$(jq -r '.data.stages[] | select(.name == "pairs").status' <<<"$output")" = warn ]
    [ "$(jq -r '.data.failing_nodes | join(",")' <<<"$output")" = nb ]
    for stage in sweep expectations; do
        [[ $(of "stage.$stage" .message) == "not reached because find-slow failed: nb sends at most 0.1 GB/s, in both of two measurements" ]]
    done
    run -1 windsock --full --format table # for people too
    [ "$(grep -c '^[a-z]* *pair.bandwidth ' <<<"$output")" = 1 ]
}

@test "who stands out in one of two measurements is a warning; a link and its end are the same" {
    for once in --pairs --find-slow; do
        stand_in ncclbench "case \"\$*\" in *$once*) $(say ncclbench "$(finding pair.bandwidth fail 'slow' nb)"); exit 1;; esac
            $(say ncclbench "$(finding coll.data pass fine)")"
        run -0 --separate-stderr windsock --full
        [ "$(of pair.bandwidth .status)" = warn ]
        [[ $(of pair.bandwidth .message) == "slow (in the "*" measurement"* ]]
        [ "$(of ddpsmoke.test .status | paste -sd,)" = pass,pass ]
    done
    stand_in ncclbench "case \"\$*\" in
        *--pairs*) $(say ncclbench "$(finding pair.bandwidth fail 'slow' nb)"); exit 1;;
        *--find-slow*) $(say ncclbench "$(finding pair.bandwidth fail 'slow' 'na -> nb')"); exit 1;; esac
        $(say ncclbench "$(finding coll.data pass fine)")"
    run -1 --separate-stderr windsock --full
    [ "$(of pair.bandwidth .status)" = fail ]
}

@test "a link of a host that stands out by itself does not accuse its other end" {
    both=$(finding pair.bandwidth fail 'slow with any partner' nb),$(finding pair.loss fail 'some is lost' 'nc -> nb'),$(finding pair.loss fail 'some is lost' 'na -> nd')
    stand_in ncclbench "case \"\$*\" in *--pairs*|*--find-slow*) $(say ncclbench "$both"); exit 1;; esac
        $(say ncclbench "$(finding coll.data pass fine)")"
    run -1 --separate-stderr windsock --full
    valid
    [ "$(jq -c .data.failing_nodes <<<"$output")" = '["na","nb","nd"]' ]
    [ "$(jq -r '.data.causes[0].subject' <<<"$output")" = nb ]
    [ "$(jq -r '.findings[] | select(.subject == "nc -> nb" and .status == "info").message' <<<"$output")" = \
        "some is lost, in both of two measurements (as nb does with others, too)" ]
}

@test "a rank that computes slowly in one run of two is a remark; in both it is a warning" {
    alone() { PATH=/usr/bin:/bin own/windsock --json; }
    slow='{"check":"train.pace","status":"warn","subject":"x","host":"h","rank":2,"message":"rank 2 (nc) is 2.5x slower","fix":["top"]}'
    even=$(say ddpsmoke "$(finding train.pace info 'as fast as each other')")
    stand_in ddpsmoke "if [ -e seen ]; then $even; else $(say ddpsmoke "$slow"); touch seen; fi"
    run -0 --separate-stderr alone
    valid
    [ "$(of train.pace '"\(.status) \(.message) \(.fix)"')" = \
        "info rank 2 (nc) is 2.5x slower, in the first of two runs; not in the second null" ]
    [ -e seen ]
    [ "$(jq '[.data.causes[] | select(.check == "train.pace")] | length' <<<"$output")" = 0 ]
    stand_in ddpsmoke "$(say ddpsmoke "$slow")"
    run -0 --separate-stderr alone
    [ "$(of train.pace '"\(.status) \(.message) \(.fix[0])"')" = "warn rank 2 (nc) is 2.5x slower, in both of two runs top" ]
    stand_in ddpsmoke "if [ -e seen ]; then $(say ddpsmoke "$(finding train.loss pass fine)"); else $(say ddpsmoke "$slow"); touch seen; fi"
    rm seen
    run -0 --separate-stderr alone # the second run did not come so far
    [ "$(of train.pace '"\(.status) \(.message)"')" = "warn rank 2 (nc) is 2.5x slower" ]
    stand_in ddpsmoke "if [ -e seen ]; then $(say ddpsmoke "${slow/:2,/:1,}"); else $(say ddpsmoke "$slow"); touch seen; fi"
    rm seen
    run -0 --separate-stderr alone # another one
    [ "$(of train.pace .status)" = info ]
    stand_in ddpsmoke "$(say ddpsmoke "$slow")"
    run -0 --separate-stderr windsock # hosts that are one machine slow each other down
    [ "$(of train.pace '"\(.status) \(.message)"')" = "info rank 2 (nc) is 2.5x slower (not judged: these hosts share a machine)" ]
}

@test "packets that collectives lose: pairs tell whose they are; where those lose none it is a remark" {
    lossy=$(finding coll.loss warn '8 % from rank 0 (na) to rank 2 (nc)' 'na -> nc')
    answers() { # FINDINGS of --find-slow
        stand_in ncclbench "case \"\$*\" in *--find-slow*) $(say ncclbench "$1");; *) $(say ncclbench "$lossy");; esac"
        rm -f calls
    }
    answers "$(finding pair.loss fail 'some is lost' nc),$(finding pair.bandwidth fail slow nb)"
    run -1 --separate-stderr windsock
    valid
    [ "$(jq -c .data.failing_nodes <<<"$output")" = '["nc"]' ]
    [ "$(of pair.loss .message)" = "some is lost" ]
    [ -z "$(of coll.loss .message)$(of pair.bandwidth .message)" ] # that one was not asked about
    answers "$(finding pair.loss warn 'no node stands out')"
    run -0 --separate-stderr windsock
    [ "$(of pair.loss .status)$(of coll.loss .message)" = warn ]
    answers "$(finding pair.bandwidth pass 'nobody stands out')"
    run -0 --separate-stderr windsock
    [ "$(of coll.loss '"\(.status) \(.message)"')" = "info 8 % from rank 0 (na) to rank 2 (nc); but nothing is lost between pairs of hosts" ]
    [ "$(grep -c -e --find-slow calls)" = 1 ]
    stand_in ncclbench "case \"\$*\" in *--find-slow*) exit 3;; *) $(say ncclbench "$lossy");; esac"
    run -0 --separate-stderr windsock # nobody could tell
    [ "$(of coll.loss .status)" = warn ]
}

@test "a host that computes slowly in two runs is named against the majority; once is a remark" {
    stand_in ddpsmoke "$(say ddpsmoke "$(finding train.loss pass fine)" "$(paces 900 1000 300 1000)")"
    run -0 --separate-stderr windsock --full
    valid
    # na to nd share this machine: a warning
    [ "$(of train.node '"\(.status) \(.subject) \(.value)"')" = "warn nc 300" ]
    [[ $(of train.node .message) == "computes 300 samples/s, the middle one of all hosts 1000: 3.3x slower, in both"* ]]
    [[ $(of train.node '.fix[0]') == "$PWD/rsh nc "* ]]
    [ "$(grep -c '^ddpsmoke .*--expect=90' calls)" = 2 ]
    [ "$(jq -r '.data.expectations.nodes[0].host' <<<"$output")" = nc ]
    stand_in ddpsmoke "if [ -e seen ]; then $(say ddpsmoke "$(finding train.loss pass fine)" "$(paces 900 1000 990 1000)")
        else $(say ddpsmoke "$(finding train.loss pass fine)" "$(paces 900 1000 300 1000)"); case \"\$*\" in *--expect*) touch seen;; esac; fi"
    run -0 --separate-stderr windsock --full
    [ "$(of train.node .status)" = info ]
    [[ $(of train.node .message) == *"but not when measured again" ]]
}

@test "training is held against what its parts promise" {
    results='{"results":[{"coll":"all_reduce","size":8192,"time_us":1000,"in_place":false}]}'
    stand_in ncclbench "$(say ncclbench "$(finding coll.data pass fine)" "$results")"
    stand_in ddpsmoke "$(say ddpsmoke "$(finding train.loss pass fine)" "$(paces 900 1000 950 1000)")"
    run -0 --separate-stderr windsock --full
    # 4 ranks of 32 samples in 32 ms of computing and 1 ms for 4000 bytes
    [[ $(of train.scaling .message) == "360 samples/s on 4 ranks, 9 % of the 3879 that its parts promise: 32.00 ms of computing and 1.00 ms for an all-reduce of 4 KB"* ]]
    [ "$(of train.scaling .expected)" = ">= 970 samples/s" ]
    [ "$(jq .data.expectations.step_exchange_ms <<<"$output")" = 1 ]
}

@test "budgets: what does not fit is left out and said, also what --full adds" {
    run -0 --separate-stderr windsock --full --budget 1m
    valid
    [ "$(of stage.expectations .status)$(of stage.sweep .status)" = "" ] # stand-ins are quick: all fits
    run -0 --separate-stderr windsock --full --budget 6s
    valid
    # a busy machine is asked for more
    [[ $(of stage.sweep .message) == "left out: it takes about "*" s, more than the budget has left" ]]
    [[ $(of stage.expectations .message) == "left out: it takes about "* ]]
    [[ $(jq -r '[.findings[] | select(.check | startswith("stage.")) | .fix[]?] | join(",")' <<<"$output") == \
        "windsock --full --rsh "*" --hosts na,nb,nc,nd --budget "[0-9]*"s   # or without a budget" ]]
    # its part of what is left, not all of it; and who stood out once alone is not accused
    slow=$(finding pair.bandwidth fail 'nb sends at most 0.1 GB/s' nb)
    stand_in ncclbench "case \"\$*\" in *--pairs*) exec sleep 60;; *--find-slow*) $(say ncclbench "$slow"); exit 1;; esac
        $(say ncclbench "$(finding coll.data pass fine)")"
    run -3 --separate-stderr windsock --full --budget 20s
    valid
    # it had the time that pairs take: a budget is no excuse for what hangs, nor a verdict
    [[ $stderr == *"not conclusive: every pair of hosts came to nothing in the time that it takes"*"without --budget"* ]]
    [ "$(jq -r .verdict <<<"$output")" = error ]
    [ "$(of stage.pairs .status)" = warn ]
    [[ $(of stage.pairs .message) == "did not fit into the budget: stopped after "*", before it came to anything; it hangs, or is slow: it takes about 8 s" ]]
    [[ $(of stage.reach .message) == "tested again after the stage pairs came to nothing: every way is still there" ]]
    [ "$(of stage.find-slow .status)" = "" ]
    [ "$(of pair.bandwidth '"\(.status) \(.message)"')" = "warn nb sends at most 0.1 GB/s (in the second measurement alone)" ]
    [ "$(of coll.data .status | sort -u)" = pass ]
    [[ $(jq -r .data.covers <<<"$output") == *"; the budget was too short for pairs" ]]
}

@test "a hang that is seen is no pass, however short its share: exit 3, which drains nobody; a failure beats it" {
    stand_in ncclbench "exec sleep 60"
    run -3 --separate-stderr windsock --budget 9s
    valid
    [ "$(of stage.collectives .status)" = warn ]
    [[ $(of stage.collectives .message) == "did not fit into the budget: stopped after "[1-8]*" s, before it came to anything; it hangs, or is slow: it takes about "* ]]
    [[ $stderr == *"not conclusive: collectives came to nothing in the time that it takes"* ]]
    [ "$(jq -c '[.verdict, .data.failing_nodes]' <<<"$output")" = '["error",[]]' ]
    printf '#!/bin/bash\n[ "$1" != nd ] || exit 255\nshift\nexec sh -c "$*"\n' >rsh
    run -1 --separate-stderr windsock --budget 9s
    valid
    [ "$(jq -c '[.verdict, .data.failing_nodes]' <<<"$output")" = '["fail",["nd"]]' ]
    [ "$(of stage.collectives .status)" = warn ]
}

@test "a link that is cut while a stage hangs within its share of the budget fails, and names the host" {
    cells='{"matrix":{"hosts":["na","nb","nc","nd"],"cells":[["self","none","ok","ok"],["none","self","none","none"],["ok","none","self","ok"],["ok","none","ok","self"]]}}'
    stand_in portcheck '[[ "$*" != *--hosts* || ! -e cut ]] || { '"$(say portcheck "$(finding mesh.in fail 'is not reached by any' nb)" "$cells")"'; exit 1; }
        '"$(say portcheck "$(finding ports.test pass fine)")"
    stand_in ncclbench "touch cut; exec sleep 60"
    run -1 --separate-stderr windsock --budget 15s
    valid
    [ "$(of mesh.in '"\(.status) \(.message)"')" = "fail is not reached by any (after the stage collectives came to nothing; before that it was well)" ]
    [ "$(jq -c '[.data.causes[0].stage, .data.failing_nodes, .data.left_out]' <<<"$output")" = '["reach",["nb"],["collectives"]]' ]
    # the ranks are told to notice a silent one before the share is over; without a budget as ever
    grep -Eq '^ncclbench .*--heartbeat=[4-9][0-9]{3}ms ' calls
    rm cut calls
    stand_in ncclbench "$(say ncclbench "$(finding coll.data pass fine)")"
    run -0 --separate-stderr windsock
    grep -q '^ncclbench ' calls
    run -1 grep -e --heartbeat calls
    # nothing but what hangs: no verdict, and it is not said that data was moved
    stand_in portcheck "$(say portcheck "$(finding ports.test error 'nobody knows')")"
    stand_in ifprobe "$(say ifprobe "$(finding if.test error 'nobody knows')")"
    stand_in ncclbench "exec sleep 60"
    stand_in ddpsmoke "exec sleep 60"
    run -3 --separate-stderr windsock --budget 15s
    valid
    [[ $(jq -r .data.covers <<<"$output") != *"with collectives"* ]]
}

@test "a host that came to nothing within the budget is no error; the others decide" {
    # na to nd are asked with what is left; where portcheck and ifprobe hang nothing is conclusive
    printf '#!/bin/bash\nhost=$1; shift; case $host in nc) export STUCK=1;; esac; exec sh -c "$*"\n' >rsh
    for name in ifprobe portcheck; do
        stand_in "$name" '[ -z "$STUCK" ] || exec sleep 60; '"$(say "$name" "$(finding "$name.test" pass "$name says pass")")"
    done
    run -0 --separate-stderr windsock --quick --budget 10s
    valid
    [ "$(jq -c '[.findings[] | select(.status == "fail" or .status == "error")]' <<<"$output")" = "[]" ]
    [[ $(of stage.hosts .message) == "on nc not all of the tests fitted into the budget" ]]
    [[ $(of stage.hosts '.fix[0]') == "windsock --quick --rsh "*" --hosts na,nb,nc,nd --budget "* ]]
    [[ $(of stage.interface .message) == "did not fit into the budget: "* ]]
}
