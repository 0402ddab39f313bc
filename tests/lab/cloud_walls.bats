#!/usr/bin/env bats
# portcheck --cloud --audit of what gcloud and az printed. The lines that it proposes are typed into
# stand-ins for both commands, and the audit after that passes.
bats_require_minimum_version 1.5.0
load cloud.sh

NET=https://www.googleapis.com/compute/v1/projects/ml/global/networks
NSGS=/subscriptions/s/resourceGroups/ml/providers/Microsoft.Network

setup() {
    no_settings
    export AWS_EC2_METADATA_DISABLED=true WALLS="$BATS_TEST_TMPDIR/walls.json"
    mkdir "$BATS_TEST_TMPDIR/bin"
    ln -s "$ROOT/tests/lab/walls_stand_in" "$BATS_TEST_TMPDIR/bin/gcloud"
    ln -s "$ROOT/tests/lab/walls_stand_in" "$BATS_TEST_TMPDIR/bin/az"
    PATH="$BATS_TEST_TMPDIR/bin:$PATH"
}

rule() { # NAME PRIORITY WHAT...: a firewall rule of Google's, into the network "train"
    printf '{"name": "%s", "network": "%s/train", "priority": %s, "direction": "%s", %s}' \
        "$1" "$NET" "$2" "${DIRECTION:-INGRESS}" "$3"
}

vm() { # NAME ADDRESS TAG [NETWORK]
    printf '{"name": "%s", "machineType": "x/a3-highgpu-8g", "tags": {"items": ["%s"]},
        "networkInterfaces": [{"name": "nic0", "network": "%s/%s", "networkIP": "%s"}]}' "$1" "$3" "$NET" "${4:-train}" "$2"
}

list() { local IFS=,; printf '[%s]\n' "$*"; }

nsg() { # NAME RULES SUBNETS
    printf '{"name": "%s", "resourceGroup": "ml", "id": "%s/networkSecurityGroups/%s", "securityRules": [%s],
        "defaultSecurityRules": [], "subnets": [%s]}' "$1" "$NSGS" "$1" "$2" "$3"
}

azure_rule() { # NAME PRIORITY ACCESS DIRECTION PORTS
    printf '{"name": "%s", "priority": %s, "access": "%s", "direction": "%s", "protocol": "*", "sourceAddressPrefix": "*",
        "sourcePortRange": "*", "destinationAddressPrefix": "*", "destinationPortRange": "%s"}' "$@"
}

nic() { # NAME ADDRESS
    printf '{"name": "%s", "id": "%s/networkInterfaces/%s", "ipConfigurations": [{"privateIPAddress": "%s",
        "subnet": {"id": "%s/virtualNetworks/v/subnets/gpu"}}]}' "$1" "$NSGS" "$1" "$2" "$NSGS"
}

audit() { # CODE ARGS...
    run "-$1" --separate-stderr "$BIN/portcheck" --cloud --audit "${@:2}"
}

type_the_fixes() { # what stands behind "-> " in $output, each as a shell takes it
    local line
    while read -r line; do
        bash -c "$line"
    done < <(sed -n 's/^ *-> \(gcloud\|az\) /\1 /p' <<<"$output")
}

valid() { "$ROOT/scripts/validate" json - <<<"$output"; }

# --- Google Cloud -----------------------------------------------------------------------------

@test "gcloud: only MASTER_PORT is open between tagged machines; the printed line opens the rest" {
    list "$(rule m 1000 '"allowed": [{"IPProtocol": "tcp", "ports": ["22", "29500"]}], "sourceTags": ["gpu"], "targetTags": ["gpu"]')" >"$WALLS"
    list "$(vm a 10.0.0.2 gpu)" "$(vm b 10.0.0.3 gpu)" >"$BATS_TEST_TMPDIR/vms.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"fail  cloud.ingress"*"train"*"MASTER_PORT 29500 is open, but NCCL"*"TCP 32768-60999 cannot enter"*"no rule lets it pass"*"open: 22,29500"* ]]
    [[ $output == *"-> gcloud compute firewall-rules create windsock-train-in --project=ml --network=train --direction=INGRESS --priority=1000 --action=ALLOW --rules=all --source-tags=gpu --target-tags=gpu"* ]]
    type_the_fixes
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"PASS"*"the rules around 2 interfaces"* ]]
}

@test "gcloud: a denial is named, also one that leaves no smaller number; what it does is undone in order" {
    local priority
    for priority in 900 0; do
        DIRECTION=EGRESS
        list "$(rule keep-in "$priority" '"denied": [{"IPProtocol": "all"}], "destinationRanges": ["0.0.0.0/0"]')" \
            "$(DIRECTION=INGRESS rule all-in 1000 '"allowed": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.0/8"]')" >"$WALLS"
        audit 1 "$WALLS"
        [[ $output == *"fail  cloud.egress"*"the rule keep-in (priority $priority) denies it"* ]]
        type_the_fixes
        audit 0 "$WALLS"
    done
}

@test "gcloud: kinds of machines that nobody described are judged each, and --group says which it is" {
    list "$(rule m 1000 '"allowed": [{"IPProtocol": "all"}], "sourceTags": ["gpu"], "targetTags": ["gpu"]')" >"$WALLS"
    audit 0 "$WALLS"
    [[ $output == *"info  cloud.alone"*"train, no tag"*"pass  cloud.alone"*"train, gpu"* ]]
    audit 0 "$WALLS" --group gpu --json
    [ "$(jq -c '.data.audit.pairs[0] | [.trains, .tcp, .udp]' <<<"$output")" = '[true,"1-65535","1-65535"]' ]
    valid
    audit 1 "$WALLS" --group web --json
    [ "$(jq -c '.data.audit | [.cloud, .pairs[0].stopped_by, .missing[0].direction, .missing[0].ports]' <<<"$output")" = \
        '["gcp","ingress","ingress","29500,32768-60999"]' ]
    valid
}

@test "gcloud: machines without a network in common, rules for the whole internet, silent connections" {
    list "$(rule m 1000 '"allowed": [{"IPProtocol": "tcp"}], "sourceRanges": ["0.0.0.0/0"]')" >"$WALLS"
    list "$(vm a 10.0.0.2 gpu)" "$(vm b 10.1.0.3 gpu other)" >"$BATS_TEST_TMPDIR/vms.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"warn  cloud.network"*"a and b have no network in common"* ]]
    [[ $output == *"warn  cloud.exposed"*"the rule m lets the whole internet reach training ports"* ]]
    [[ $output == *"info  cloud.ingress"*"train"*"UDP and ICMP are not"* ]]
    [[ $output == *"info  cloud.idle"*"silent for 10 minutes"* ]]
    [[ $output == *"fail  cloud.ingress"*"other"*"what none does is denied"* ]]
}

@test "gcloud: cards of RDMA networks need no rule, and say so" {
    list "$(rule m 1000 '"allowed": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.0/8"]')" >"$WALLS"
    list "$(vm a 10.0.0.2 gpu)" "$(vm b 10.0.0.3 gpu)" |
        jq --arg net "$NET/roce" '.[].networkInterfaces += [{"name": "nic1", "nicType": "MRDMA", "network": $net, "networkIP": "10.9.0.2"}]' \
            >"$BATS_TEST_TMPDIR/vms.json"
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"info  cloud.rdma"*"roce"*"1 network is for RDMA"*"the rules around 2 interfaces"* ]]
}

@test "gcloud: policies beside the rules of the network are said to be unread" {
    printf '{"firewalls": [%s], "firewallPolicys": [{"shortName": "org", "rules": [{"action": "%s"}]}]}' \
        "$(rule m 1000 '"allowed": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.0/8"]')" deny >"$WALLS"
    audit 0 "$WALLS"
    [[ $output == *"warn  cloud.policy"*"org"*"was not looked at"* ]]
    sed -i 's/"deny"/"goto_next"/' "$WALLS"
    audit 0 "$WALLS"
    [[ $output != *cloud.policy* ]]
}

# --- Azure ------------------------------------------------------------------------------------

@test "az: a denial in a subnet's group; its number is the first, so it moves, and then all passes" {
    local first
    for first in 100 300; do
        list "$(nsg gpu-nsg "$(azure_rule DenyAll "$first" Deny Inbound '*'), $(azure_rule Out 100 Deny Outbound 40000-40010)" \
            "{\"id\": \"$NSGS/virtualNetworks/v/subnets/gpu\"}")" >"$WALLS"
        list "$(nic a 10.0.0.4)" "$(nic b 10.0.0.5)" >"$BATS_TEST_TMPDIR/nics.json"
        audit 1 "$WALLS" "$BATS_TEST_TMPDIR/nics.json"
        [[ $output == *"fail  cloud.ingress"*"gpu-nsg"*"the rule DenyAll (priority $first) denies it"* ]]
        [[ $output == *"fail  cloud.egress"*"TCP 40000-40010 cannot leave"* ]]
        type_the_fixes
        audit 0 "$WALLS" "$BATS_TEST_TMPDIR/nics.json"
    done
}

@test "az: a group that is not described, and none at all" {
    list "$(nic a 10.0.0.4)" "$(nic b 10.0.0.5)" >"$WALLS"
    audit 0 "$WALLS"
    [[ $output == *"no security group stands before"* ]]
    jq --arg id "$NSGS/networkSecurityGroups/far" '.[].networkSecurityGroup.id = $id' "$WALLS" >"$WALLS.2"
    audit 0 "$WALLS.2" --json
    [ "$(finding cloud.ingress)" = warn ]
    [ "$(jq '.data.audit.pairs[0] | has("trains")' <<<"$output")" = false ]
    valid
}

# --- what is none of both ---------------------------------------------------------------------

@test "what is no such document is refused with the commands that make one" {
    local text
    for text in '' $'\n' '{}' '[]' '<xml/>' $'SecurityGroups:\n- GroupId: sg-1' $'NAME\tNETWORK' '[{"name": "x"' 7; do
        run -3 --separate-stderr "$BIN/portcheck" --cloud --audit - <<<"$text"
        [[ $stderr == *"--output json | portcheck --cloud --audit -"*"gcloud compute firewall-rules list --format=json"*"az network nsg list"* ]]
    done
    run -3 --separate-stderr "$BIN/portcheck" --cloud --audit - <<<'[]'
    [[ $stderr == *"an empty list"* ]]
    run -3 --separate-stderr "$BIN/portcheck" --cloud --audit - </dev/null
    [[ $stderr == *"nothing was read"* ]]
    { list "$(rule m 1000 '"allowed": [{"IPProtocol": "all"}]')"; list "$(nic a 10.0.0.4)"; } >"$WALLS"
    audit 3 "$WALLS"
    [[ $stderr == *"documents of two clouds"* ]]
}
