#!/usr/bin/env bats
# portcheck --cloud --audit: when EC2 forgets connections that are silent. The stand-in for EC2
# listens on loopback. Needs python3-botocore, and for one test an awscli of 2024 or later.
bats_require_minimum_version 1.5.0
load cloud_ec2.sh

tracked() { # INSTANCE-JSON SECONDS: with that timeout set
    jq -c --argjson s "$2" '.NetworkInterfaces[].ConnectionTrackingConfiguration = {TcpEstablishedTimeout: $s}' <<<"$1"
}

# EC2 with two nodes, of which each may have a timeout, and a type that does so of its own accord.
ec2_tracks() { # DEFAULT FIRST-NODE SECOND-NODE [MOOD]
    ec2_has "$(group sg-0123 "$SELF" "$SELF")" "$2, $3" "" "${4-"{}"}"
    jq --argjson s "$1" '.InstanceTypes = [{InstanceType: "p4d.24xlarge", NetworkInfo: {
        ConnectionTrackingConfiguration: {DefaultTcpEstablishedTimeout: $s, DefaultUdpTimeout: 30}}}]' "$EC2" >"$EC2.more"
    mv "$EC2.more" "$EC2"
}

node() { instance "$1" efa '{"GroupId": "sg-0123", "GroupName": "n"}'; }

message() { jq -r '.findings[] | select(.check == "cloud.idle") | "\(.status) \(.subject): \(.message)"' <<<"$output"; }

@test "idle: an interface whose timeout is short, and one that has nothing set, as its type does" {
    use_keys
    ec2_tracks 432000 "$(tracked "$(node 1)" 60)" "$(node 2)"
    audit 0 --group sg-0123 --json
    valid
    [[ $(message) == "warn i-01: EC2 forgets a TCP connection that is silent for 60 s, as its TcpEstablishedTimeout is set: "* ]]
    audit 1 --group sg-0123 --strict
    ec2_tracks 350 "$(node 1)" "$(tracked "$(node 2)" 86400)"
    audit 0 --group sg-0123 --json
    [[ $(message) == "warn i-01: EC2 forgets a TCP connection that is silent for 350 s, as p4d.24xlarge does where nothing is set: "* ]]
    [ "$(jq -c '[.data.audit.nodes[].idle_s]' <<<"$output")" = '[350]' ]
}

@test "idle: what is kept for long passes, and the type is asked for only where nothing is set" {
    use_keys
    ec2_tracks 432000 "$(node 1)" "$(node 2)"
    audit 0 --group sg-0123 --json
    [ "$(message)" = "pass null: a TCP connection may be silent for 5 d" ]
    [ "$(actions | grep -c DescribeInstanceTypes)" = 1 ]
    : >"$EC2_LOG"
    ec2_tracks 350 "$(tracked "$(node 1)" 7200)" "$(tracked "$(node 2)" 86400)"
    audit 0 --group sg-0123 --json
    [ "$(message)" = "pass null: a TCP connection may be silent for 2 h" ]
    run ! grep -q DescribeInstanceTypes "$EC2_LOG"
}

@test "idle: who may not ask for types is told, and the rest is judged" {
    use_keys
    ec2_tracks 350 "$(node 1)" "$(node 2)" '{"deny": ["DescribeInstanceTypes"]}'
    audit 0 --group sg-0123 --json
    [ "$(finding cloud.api)" = skip ]
    [ "$(finding cloud.ingress)" = pass ]
    [ "$(finding cloud.idle)" = "" ]
    [[ $(jq -r '.findings[] | select(.check == "cloud.api").message' <<<"$output") == *"so when silent connections are forgotten is not known"*"ec2:DescribeInstanceTypes"* ]]
}

@test "idle: files, with the document of the types and without" {
    file_has "$(group sg-0123 "$SELF" "$SELF")"
    printf '{"Reservations": [{"Instances": [%s]}]}' "$(node 1)" >"$BATS_TEST_TMPDIR/nodes.json"
    audit 0 "$BATS_TEST_TMPDIR"/*.json --json
    [[ $(message) == "info p4d.24xlarge: "* ]]
    echo '{"InstanceTypes": [{"InstanceType": "p4d.24xlarge", "NetworkInfo": {"ConnectionTrackingConfiguration": {"DefaultTcpEstablishedTimeout": 350}}}]}' \
        >"$BATS_TEST_TMPDIR/types.json"
    audit 0 "$BATS_TEST_TMPDIR"/*.json --json
    [[ $(message) == "warn i-01: "*" 350 s, as p4d.24xlarge does"* ]]
    valid
}

aws_that_knows() { # an aws that has the option
    local one
    for one in /usr/bin/aws $(type -aP aws); do
        "$one" ec2 modify-network-interface-attribute --network-interface-id eni-1 --generate-cli-skeleton \
            --connection-tracking-specification TcpEstablishedTimeout=60 >/dev/null 2>&1 || continue
        echo "$one"
        return
    done
    return 1
}

@test "idle: the lines that are printed do what they say, typed into a shell with AWS's own command" {
    local aws
    aws=$(aws_that_knows) || skip "no awscli here that knows of idle timeouts"
    use_keys
    ec2_tracks 350 "$(node 1)" "$(tracked "$(node 2)" 60)"
    audit 0 --group sg-0123 --json
    jq -r '.findings[] | select(.check == "cloud.idle").fix[]' <<<"$output" >"$BATS_TEST_TMPDIR/lines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" = 2 ]
    aws() { AWS_DEFAULT_REGION=$AWS_REGION AWS_PAGER='' "$aws" --endpoint-url "http://127.0.0.1:$EC2_PORT" "$@"; }
    # shellcheck source=/dev/null
    . "$BATS_TEST_TMPDIR/lines"
    audit 0 --group sg-0123 --json
    [ "$(message)" = "pass null: a TCP connection may be silent for 24 h" ]
}
