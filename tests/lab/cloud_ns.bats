#!/usr/bin/env bats
# portcheck and the metadata services at their true address, inside network
# namespaces of this test: identity, the hop limit of a container, bare portcheck's
# cloud part, and what all that costs off the cloud. Needs root, ip, python3 and,
# for EC2's stand-in, python3-botocore.
# shellcheck disable=SC2016 # scripts for another shell
bats_require_minimum_version 1.5.0
load cloud.sh

TRUE=169.254.169.254

setup_file() {
    [ "$(id -u)" = 0 ] || skip "not root"
    /usr/bin/python3 -c 'import botocore' 2>/dev/null || skip "python3-botocore is not here"
    export NS="wscloud$$" PIDS="$BATS_FILE_TMPDIR/pids" EC2="$BATS_FILE_TMPDIR/state"
    : >"$PIDS"
    local n
    for n in node box service; do
        ip netns add "$NS-$n"
        ip -n "$NS-$n" link set lo up
    done
    # node --cloud0-- service (the cloud); box (a container) --eth0-- node
    pair node cloud0 service host 10.79.0.1/24 10.79.0.2/24
    ip -n "$NS-service" addr add "$TRUE/32" dev host
    ip -n "$NS-node" route add "$TRUE" via 10.79.0.2
    pair node docker0 box eth0 172.17.0.1/16 172.17.0.2/16
    ip -n "$NS-box" route add default via 172.17.0.1
    at node sysctl -qw net.ipv4.ip_forward=1
    at node nft -f - <<'N'
table ip nat { chain p { type nat hook postrouting priority 100; oifname "cloud0" ip saddr 172.17.0.0/16 masquerade; }; }
N
    echo '{}' >"$EC2"
    nsenter --net="/run/netns/$NS-node" /usr/bin/python3 "$ROOT/tests/lab/ec2_server" 0 "$EC2" "$EC2.log" \
        >"$BATS_FILE_TMPDIR/port" 2>&1 3>&- </dev/null &
    echo $! >>"$PIDS"
    wait_for test -s "$BATS_FILE_TMPDIR/port"
    EC2_PORT=$(<"$BATS_FILE_TMPDIR/port")
    export EC2_PORT
}

teardown_file() {
    local pid n
    while read -r pid; do
        kill "$pid" 2>/dev/null || :
    done <"${PIDS:-/dev/null}"
    for n in node box service; do
        ip netns del "${NS:-none}-$n" 2>/dev/null || :
    done
}

pair() { # NS1 IF1 NS2 IF2 ADDR1 ADDR2
    ip link add "$2" netns "$NS-$1" type veth peer name "$4" netns "$NS-$3"
    ip -n "$NS-$1" addr add "$5" dev "$2"
    ip -n "$NS-$3" addr add "$6" dev "$4"
    ip -n "$NS-$1" link set "$2" up
    ip -n "$NS-$3" link set "$4" up
}

at() { # NS COMMAND...
    nsenter --net="/run/netns/$NS-$1" "${@:2}"
}

setup() {
    no_settings
    : >"$EC2.log"
}

teardown() {
    stop
}

stop() { # waits too: the next one needs the port
    [ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || :
    wait "${SERVER:-}" 2>/dev/null || :
    SERVER=
}

# A metadata service until the end of the test.
imds() { # KIND [OPTION...]
    LOG="$BATS_TEST_TMPDIR/imds.log"
    : >"$LOG"
    nsenter --net="/run/netns/$NS-service" "$ROOT/tests/lab/imds_server" "$TRUE" 80 "$@" --log "$LOG" >/dev/null 2>&1 3>&- </dev/null &
    SERVER=$!
    echo "$SERVER" >>"$PIDS"
    wait_for at service bash -c 'exec 3<>/dev/tcp/169.254.169.254/80'
}

# On a machine whose DMI says so.
on() { # NS FILE=TEXT EXIT-CODE ARGS...
    run "-$3" --separate-stderr at "$1" "${AS_MACHINE[@]}" "$BATS_TEST_TMPDIR" "$2" "$BIN/portcheck" "${@:4}"
}

AWS="sys_vendor=Amazon EC2"
GCP="product_name=Google Compute Engine"
AZURE="chassis_asset_tag=7783-7084-3265-9085-8269-3286-77"

ms() { # its own seconds, as the JSON of $output has them
    jq '.seconds * 1000 | floor' <<<"$output"
}

quickest() { # MS ARGS-OF-on...: the best of five, or the first that took less; its time into MS
    local now best=
    for _ in {1..5}; do # others may have the processors
        on "${@:2}"
        now=$(ms)
        best=$((${best:-now} < now ? best : now))
        ((best >= $1)) || break
    done
    MS=$best
}

@test "aws, gcp, azure: type, and every interface with its private and public address" {
    imds aws
    on node "$AWS" 0 --cloud
    [[ $output == *"02:00:0a:4d:00:01"*"10.77.0.1"*"198.51.100.7"*"eni-0a1"*"subnet-0a"*"sg-0123,sg-0456"* ]]
    [[ $output == *"aws p4d.24xlarge in us-east-1a"* ]]
    stop
    imds gcp
    on node "$GCP" 0 --cloud
    [[ $output == *"42:01:0a:80:00:02"*"10.128.0.2"*"203.0.113.5"*"gcp a3-highgpu-8g"* ]]
    on node "$GCP" 0 --cloud --json
    [ "$(jq -c '.data.cloud.interfaces[0] | [.mac, .addresses[0]]' <<<"$output")" = '["42:01:0a:80:00:02","10.128.0.2"]' ]
    on node "$GCP" 4 --cloud --audit
    [[ $stderr == *"--audit asks EC2 only, and this machine is on gcp"*"gcloud compute firewall-rules list --format=json | portcheck --cloud --audit -"* ]]
    on node "$GCP" 0
    [[ $output == *"info  cloud.rules"*"-> gcloud compute firewall-rules list --format=json | portcheck --cloud --audit -"* ]]
    stop
    imds azure
    on node "$AZURE" 0 --cloud
    [[ $output == *"00:0d:3a:32:85:70"*"10.0.0.4"*"203.0.113.9"*"azure Standard_ND96isr_H100_v5"* ]]
}

@test "in a container: a hop limit of one is named with its cure, two is enough" {
    imds aws --hop 1
    on box "$AWS" 0 --cloud
    [[ $output == *"warn  cloud.metadata"*"hop limit too small"*"-> aws ec2 modify-instance-metadata-options"*"--http-put-response-hop-limit 2"* ]]
    stop
    imds aws --hop 2
    on box "$AWS" 0 --cloud
    [[ $output == *"sg-0123,sg-0456"* && $output != *"hop limit"* ]]
}

@test "bare: the instance's role reads its groups, and what is missing is one warning with the lines" {
    imds aws
    export AWS_ENDPOINT_URL_EC2="http://127.0.0.1:$EC2_PORT"
    rules '' ''
    on node "$AWS" 0 --json
    [ "$(finding cloud.rules)" = warn ]
    [ "$(jq -r '.findings[] | select(.check == "cloud.rules") | .fix[]' <<<"$output")" = \
        "aws ec2 authorize-security-group-ingress --group-id sg-0123 --ip-permissions 'IpProtocol=-1,UserIdGroupPairs=[{GroupId=sg-0123}]'
aws ec2 authorize-security-group-egress --group-id sg-0123 --ip-permissions 'IpProtocol=-1,UserIdGroupPairs=[{GroupId=sg-0123}]'" ]
    valid
    grep -q '^DescribeSecurityGroups ok ASIAROLE' "$EC2.log"
    local self='{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-0123"}, {"GroupId": "sg-0456"}]}'
    rules "$self" "$self"
    on node "$AWS" 0 --json
    [ "$(finding cloud.rules)" = pass ]
    [ "$(finding cloud.identity)" = info ]
    # EC2 tells this role of no instance: whether they have EFA is not known.
    rules "$self" '{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}'
    on node "$AWS" 0 --json
    [ "$(finding cloud.rules)" = info ]
    [[ $output != *hang* ]]
}

rules() { # IN OUT: of both groups
    local id all=''
    for id in sg-0123 sg-0456; do
        all+=$(printf ', {"GroupId": "%s", "GroupName": "n", "Description": "d", "OwnerId": "123456789012",
            "VpcId": "vpc-0a", "IpPermissions": [%s], "IpPermissionsEgress": [%s]}' "$id" "$1" "$2")
    done
    printf '{"SecurityGroups": [%s], "Instances": [], "NetworkAcls": [], "Mood": {}}' "${all#,}" >"$EC2"
}

@test "bare: where the groups may not be read that is said, and nothing else suffers" {
    imds aws
    AWS_ENDPOINT_URL_EC2=http://127.0.0.1:9 on node "$AWS" 0 --json
    [ "$(finding cloud.rules)" = info ]
    [[ $output == *"describe-security-groups --output json --group-ids sg-0123 sg-0456 | portcheck --cloud --audit -"* ]]
    [ "$(finding local.master_port)" != "" ]
}

@test "a container's role is asked at the address that ECS has for it" {
    ip -n "$NS-service" addr add 169.254.170.2/32 dev host
    ip -n "$NS-node" route add 169.254.170.2 via 10.79.0.2
    mkdir -p "$BATS_TEST_TMPDIR/www/v2/credentials"
    echo '{"AccessKeyId": "ASIATASK", "SecretAccessKey": "secret/Example+Key", "Token": "tok/en+example=="}' \
        >"$BATS_TEST_TMPDIR/www/v2/credentials/x"
    nsenter --net="/run/netns/$NS-service" python3 -m http.server 80 --bind 169.254.170.2 \
        --directory "$BATS_TEST_TMPDIR/www" >/dev/null 2>&1 3>&- </dev/null &
    SERVER=$!
    echo "$SERVER" >>"$PIDS"
    wait_for at service bash -c 'exec 3<>/dev/tcp/169.254.170.2/80'
    rules '' ''
    AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/credentials/x AWS_REGION=us-east-1 \
        AWS_ENDPOINT_URL_EC2="http://127.0.0.1:$EC2_PORT" \
        on node "sys_vendor=Dell Inc." 1 --cloud --audit --group sg-0123
    grep -q '^DescribeSecurityGroups ok ASIATASK' "$EC2.log"
}

@test "no secret of the role is printed or logged" {
    imds aws
    export AWS_ENDPOINT_URL_EC2="http://127.0.0.1:$EC2_PORT"
    rules '' ''
    local how all="$BATS_TEST_TMPDIR/all"
    for how in --debug --verbose --json --cloud "--cloud --audit --debug" "--cloud --audit --apply --verbose"; do
        # shellcheck disable=SC2086
        on node "$AWS" "$([[ $how == *audit\ --debug ]] && echo 1 || echo 0)" $how
        printf '%s\n%s\n' "$output" "$stderr" >>"$all"
    done
    grep -q '^Authorize[A-Za-z]* ok ASIAROLE' "$EC2.log" # it had them
    run ! grep -F -e secret/Example -e tok/en+example -e secret%2F "$all" "$EC2.log"
}

@test "off the cloud it costs at most its connect limit, beside the local work" {
    # Routed, but nobody's: the longest it can take.
    ip -n "$NS-service" addr del "$TRUE/32" dev host
    ip -n "$NS-node" route replace blackhole 10.99.0.0/16 # (nothing else is asked)
    ip -n "$NS-node" neigh replace 10.79.0.2 lladdr 02:00:00:00:00:99 dev cloud0 nud permanent
    quickest 450 node "$AWS" 0 --cloud --json
    [ "$(finding cloud.metadata)" = warn ]
    ((MS >= 290 && MS < 450)) || { echo "$MS" >&2; return 1; }
    on node "sys_vendor=Dell Inc." 0 --json
    local alone most
    alone=$(ms)
    most=$(((alone > 300 ? alone : 300) + 150))
    [ "$(jq 'any(.findings[]; .check | startswith("cloud."))' <<<"$output")" = false ]
    quickest "$most" node "$AWS" 0 --json
    [ "$(finding cloud.metadata)" = info ]
    ((MS < most)) || { echo "$alone alone, $MS" >&2; return 1; }
    ip -n "$NS-node" neigh del 10.79.0.2 dev cloud0
    ip -n "$NS-service" addr add "$TRUE/32" dev host
}

@test "in no cloud nothing is sent to that address, nor to a proxy; in one only to it" {
    imds aws
    at node nft -f - <<'N'
table inet counted { chain out { type filter hook output priority 0; policy accept;
 ip daddr 169.254.169.254 ct state new counter comment "metadata"
 ip daddr 10.79.0.2 ct state new counter comment "proxy"; }; }
N
    export http_proxy=http://10.79.0.2:3128 HTTP_PROXY=http://10.79.0.2:3128 ALL_PROXY=http://10.79.0.2:3128
    local dmi
    on node "sys_vendor=Dell Inc." 0
    on node "sys_vendor=Dell Inc." 0 --cloud
    run -0 at node nft list table inet counted
    [[ $output == *"packets 0 bytes 0 comment \"metadata\""*"packets 0 bytes 0 comment \"proxy\""* ]]
    for dmi in "$AWS" "$GCP" "$AZURE"; do # switched off
        AWS_EC2_METADATA_DISABLED=true on node "$dmi" 0 --cloud
        AWS_EC2_METADATA_DISABLED=true on node "$dmi" 0
    done
    run -0 at node nft list table inet counted
    [[ $output == *"packets 0 bytes 0 comment \"metadata\""* ]]
    on node "$AWS" 0 --cloud
    run -0 at node nft list table inet counted
    [[ $output != *"packets 0 bytes 0 comment \"metadata\""* && $output == *"packets 0 bytes 0 comment \"proxy\""* ]]
    at node nft delete table inet counted
}
