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

@test "gcloud: a line never opens more than private ranges of the nodes, and one line does for all" {
    list "$(rule ssh 1000 '"allowed": [{"IPProtocol": "tcp", "ports": ["22"]}], "sourceRanges": ["0.0.0.0/0"]')" >"$WALLS"
    list "$(vm a 10.0.0.2 x)" "$(vm b 192.168.0.3 y)" "$(vm c 10.0.3.9 z)" >"$BATS_TEST_TMPDIR/vms.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"--source-ranges=10.0.0.0/22,192.168.0.0/28"* ]]
    list "$(rule g 1000 '"allowed": [{"IPProtocol": "all"}], "sourceTags": ["gpu"], "targetTags": ["gpu"]')" \
        "$(rule d 900 '"denied": [{"IPProtocol": "tcp", "ports": ["29500"]}], "sourceRanges": ["0.0.0.0/0"], "targetTags": ["big"]')" \
        "$(rule windsock-train-in 5000 '"allowed": [{"IPProtocol": "tcp", "ports": ["1"]}]')" >"$WALLS"
    list "$(vm a 10.0.0.2 gpu)" "$(vm b 10.0.0.3 gpu)" "$(vm c 10.0.0.4 big)" "$(vm d 10.0.0.5 big)" >"$BATS_TEST_TMPDIR/vms.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [ "$(grep -c -- '-> gcloud compute firewall-rules create windsock-train-in-2 ' <<<"$output")" = 1 ]
    [[ $output == *"the rule above lets this pass, too"* ]]
    type_the_fixes
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
}

@test "gcloud: networks whose rules nobody gave, policies that may allow, addresses that nobody knows: not known" {
    list "$(vm a 10.0.0.2 x)" "$(vm b 10.0.0.3 x)" >"$BATS_TEST_TMPDIR/vms.json"
    audit 3 "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"the rules of its network train are in no document"*"-> gcloud compute firewall-rules list --project=ml --format=json"* ]]
    printf '{"firewallPolicys": [{"name": "12", "rules": [{"action": "allow"}]}], "firewalls": [%s]}' \
        "$(rule ssh 1000 '"allowed": [{"IPProtocol": "tcp", "ports": ["22"]}]')" >"$WALLS"
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/vms.json"
    [[ $output == *"warn  cloud.ingress"*"no rule of the network lets TCP 29500,32768-60999 enter from"*"a firewall policy, which was not looked at, may"* ]]
    [[ $output != *"firewall-rules create"* ]]
    list "$(rule lab 900 '"denied": [{"IPProtocol": "all"}], "sourceRanges": ["10.99.0.0/16"]')" \
        "$(rule all 1000 '"allowed": [{"IPProtocol": "all"}], "sourceRanges": ["10.0.0.0/8"]')" >"$WALLS"
    audit 0 "$WALLS"
    [[ $output == *"warn  cloud.rules"*"the rule lab (priority 900) denies a part of the private addresses"*"nodes without a tag, of which none is described"* ]]
}

@test "gcloud: five hundred rules and a hundred kinds of machines are judged in time" {
    jq -n --arg net "$NET/train" '[range(500) | {name: "r\(.)", network: $net, priority: 1000, direction: "INGRESS",
        allowed: [{IPProtocol: "tcp", ports: ["\(1000 + . * 7)", "\(30000 + . * 11)"]}], sourceTags: ["t\(. % 100)"], targetTags: ["t\(. % 100)"]}]' >"$WALLS"
    jq -n --arg net "$NET/train" '[range(100) | {name: "m\(.)", machineType: "x", tags: {items: ["t\(.)"]},
        networkInterfaces: [{name: "nic0", network: $net, networkIP: "10.0.0.\(. + 2)"}]}]' >"$BATS_TEST_TMPDIR/vms.json"
    run -1 --separate-stderr timeout 60 "$BIN/portcheck" --cloud --audit "$WALLS" "$BATS_TEST_TMPDIR/vms.json" --json
    [ "$(jq '.data.audit.nodes | length' <<<"$output")" = 100 ]
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

@test "az: whether a subnet has a group is asked, and not taken for none; a document about it says" {
    list "$(nic a 10.0.0.4)" "$(nic b 10.0.0.5)" >"$WALLS"
    audit 3 "$WALLS"
    [[ $output == *"skip  cloud.ingress"*"whether its subnet gpu has a security group is in no document"*"-> az network vnet list --output json"* ]]
    printf '[{"name": "v", "addressSpace": {"addressPrefixes": ["10.0.0.0/16"]}, "subnets": [{"id": "%s/virtualNetworks/v/subnets/gpu"}]}]' "$NSGS" \
        >"$BATS_TEST_TMPDIR/vnets.json"
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/vnets.json"
    [[ $output == *"no security group stands before it: everything passes"* ]]
    jq --arg id "$NSGS/networkSecurityGroups/far" '.[].subnets[].networkSecurityGroup.id = $id' "$BATS_TEST_TMPDIR/vnets.json" \
        >"$BATS_TEST_TMPDIR/far.json"
    audit 3 "$WALLS" "$BATS_TEST_TMPDIR/far.json" --json
    [ "$(finding cloud.ingress)" = skip ]
    [ "$(jq '.data.audit.pairs[0] | has("trains")' <<<"$output")" = false ]
    valid
    list "$(nsg far "$(azure_rule D 200 Deny Inbound '*')" "")" >"$BATS_TEST_TMPDIR/nsgs.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/far.json" "$BATS_TEST_TMPDIR/nsgs.json"
    [[ $output == *"fail  cloud.ingress"*"far"*"the rule D"* ]]
}

@test "az: interfaces of no machine are left out; a rule for the internet and a move that opens one are said" {
    list "$(nsg g "$(azure_rule DenyAll 100 Deny Inbound '*'), $(azure_rule Old 101 Allow Inbound '*' | sed 's/"sourceAddressPrefix": "[*]"/"sourceAddressPrefix": "Internet"/')" \
        "{\"id\": \"$NSGS/virtualNetworks/v/subnets/gpu\"}")" >"$WALLS"
    list "$(nic a 10.0.0.4)" "$(nic b 10.0.0.5)" "$(nic bastion 10.0.0.6)" |
        jq '.[0].virtualMachine.id = "/x/virtualMachines/a" | .[1].virtualMachine.id = "/x/virtualMachines/b"' >"$BATS_TEST_TMPDIR/nics.json"
    audit 1 "$WALLS" "$BATS_TEST_TMPDIR/nics.json"
    [[ $output == *"1 interface of no machine was left out"*"the rules around 2 interfaces"* ]]
    [[ $output == *"look at it first: Old (101) would come before DenyAll then"*"--name DenyAll --priority 102"*"--priority 100 --direction Inbound"* ]]
    [[ $output != *cloud.exposed* ]]
    type_the_fixes
    audit 0 "$WALLS" "$BATS_TEST_TMPDIR/nics.json"
    [[ $output == *"warn  cloud.exposed"*"the rule Old lets the whole internet"* ]]
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
