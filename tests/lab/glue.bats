#!/usr/bin/env bats
# The Kubernetes job of scripts/kubernetes: its own lines, in every node of a lab as
# in the pods of an indexed job.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0

setup() {
    "$ROOT/scripts/lab" run 1 -- true 2>/dev/null || skip "no network namespaces can be made here"
    cd "$BATS_TEST_TMPDIR" || return
    unset "${!NCCL_@}" "${!WINDSOCK_@}"
    python3 - "$ROOT/scripts/kubernetes/job.yaml" <<'P' >pod.sh
import sys, yaml
service, job = yaml.safe_load_all(open(sys.argv[1]))
pod = job["spec"]["template"]["spec"]
box = pod["containers"][0]
assert job["spec"]["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never"
assert job["spec"]["completions"] == job["spec"]["parallelism"]
assert box["env"][0] == {"name": "NODES", "value": str(job["spec"]["completions"])}
assert pod["subdomain"] == service["metadata"]["name"]
assert service["spec"]["selector"] == {"job-name": job["metadata"]["name"]}
assert box["env"][1]["value"] == f'{job["metadata"]["name"]}-%s.{pod["subdomain"]}'
assert job["spec"]["podFailurePolicy"]["rules"][0]["onExitCodes"]["containerName"] == box["name"]
assert box["command"] == ["sh", "-c"]
# what a namespace that enforces the "restricted" Pod Security Standard asks for
who, may = pod["securityContext"], box["securityContext"]
assert who["runAsNonRoot"] is True and who["seccompProfile"] == {"type": "RuntimeDefault"}
assert may == {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
print(who["runAsUser"], who["runAsGroup"], file=open("user", "w"))
print(box["args"][0])
P
    PEER='node%s'
}

teardown() { [ -z "${image:-}" ] || rm -rf "$image"; }

# As its securityContext says: nobody, with no privilege, and the image's files.
restricted() {
    local uid gid
    [ "$(id -u)" = 0 ] || return 0
    read -r uid gid <user
    image=$(mktemp -d /tmp/windsock-image.XXXXXX)
    cp "$BIN"/{windsock,ifprobe,portcheck,ncclbench} "$image"
    chmod 755 "$image"
    AS=(env -C / PATH="$image:$PATH" setpriv --reuid "$uid" --regid "$gid" --clear-groups --no-new-privs
        --bounding-set=-all --inh-caps=-all)
}

pods() { # NODES [LAB OPTIONS]: the job, a pod on each node; nodeK gets index K
    "$ROOT/scripts/lab" run "$@" --all -- env PATH="$PWD/tools:$BIN:$PATH" NODES="$1" PEER="$PEER" \
        MASTER_PORT=29500 PATIENCE="${PATIENCE:-0}" \
        JOB="$(cat pod.sh)" "${AS[@]}" sh -c 'JOB_COMPLETION_INDEX=$(uname -n | tr -dc 0-9) exec sh -c "$JOB"'
}

@test "Kubernetes job: every pod passes alone, reaches the others, and takes part in a collective" {
    restricted
    run -0 --separate-stderr pods 4
    [ "$(grep -cE '^node[0-3]: (PASS|WARN)' <<<"$output")" -ge 8 ]
    grep -qE '^node0: +16777216 .* 0 .* 0$' <<<"$output" # the largest size, none wrong
    [[ $output == *"node0: # PASS coll.data: 44 results verified, none wrong"* ]]
}

@test "Kubernetes job: a pod behind a firewall makes the job fail with 1, and is named" {
    printf 'table inet f {
        chain i { type filter hook input priority 0; tcp dport 29500 drop; }
        chain o { type filter hook output priority 0; tcp dport 29500 drop; }
    }\n' >drop.nft
    run -1 --separate-stderr pods 3 --firewall node1=drop.nft
    for other in 0 2; do
        grep -q "^node$other: fail  port.tcp  *node1:29500 " <<<"$output"
    done
}

@test "Kubernetes job: pods that come late are waited for, but not for ever" {
    mkdir tools
    printf '#!/bin/sh\necho try >>tries\n[ "$(wc -l <tries)" = 3 ]\n' >tools/ncclbench
    chmod +x tools/ncclbench
    PATIENCE=20
    run -0 --separate-stderr pods 1
    [ "$(wc -l <tries)" = 3 ]
    rm tries
    PATIENCE=0
    run -1 --separate-stderr pods 1
    [ "$(wc -l <tries)" = 1 ]
    rm tries
    # what was measured is an answer: a fault that comes and goes is not asked for again until it is away
    printf '#!/bin/sh\necho try >>tries\necho "# FAIL coll.data: 3 results had wrong elements"\n[ "$(wc -l <tries)" = 2 ]\n' >tools/ncclbench
    PATIENCE=20
    run -1 --separate-stderr pods 1
    [ "$(wc -l <tries)" = 1 ]
    [[ $output == *"node0: # FAIL coll.data: 3 results had wrong elements"* ]]
    rm tries
    printf '#!/bin/sh\necho ask >>asked\n[ "$(wc -l <asked)" -ge 3 ]\n' >tools/getent
    printf '#!/bin/sh\n' >tools/ncclbench
    chmod +x tools/getent
    PATIENCE=20
    run -0 --separate-stderr pods 1
    [ "$(wc -l <asked)" = 3 ]
    printf '#!/bin/sh\nexit 2\n' >tools/getent
    PATIENCE=1
    run -3 --separate-stderr pods 1 # 1 would be a sick node, and the end of the job
    [[ $output == *"node0 is not known after 1 s: is its pod there?"* ]]
}
