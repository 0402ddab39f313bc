#!/usr/bin/env bats
# portcheck --cloud: identity, the audit of files and of a stand-in for EC2, --apply,
# the credential chain beside AWS's own, and secrets that nobody sees. The stand-ins
# listen on loopback. Needs python3-botocore, and for two tests awscli.
# shellcheck disable=SC2016 # jq's variables are in single quotes
bats_require_minimum_version 1.5.0
load cloud_ec2.sh

# --- identity ---------------------------------------------------------------------

@test "identity off every cloud: said, at once, and nothing is sent" {
    local start took
    for _ in {1..5}; do # who has no processor at the moment is not waiting for an answer
        start=${EPOCHREALTIME/./}
        run -0 --separate-stderr "$BIN/portcheck" --cloud --json
        took=$((${EPOCHREALTIME/./} - start))
        ((took >= 300000)) || break
    done
    ((took < 300000))
    [ "$(jq -r '.data.cloud | has("provider")' <<<"$output")" = false ]
    valid
}

@test "identity on AWS: type, place, public map, groups per interface; no proxy is asked" {
    use_imds
    export http_proxy=http://127.0.0.1:9 HTTP_PROXY=http://127.0.0.1:9 ALL_PROXY=http://127.0.0.1:9
    run -0 --separate-stderr "$BIN/portcheck" --cloud --json
    run -0 jq -r '.data.cloud | .provider, .instance_type, .instance_id, .region, .zone,
        (.interfaces[0] | .id, .subnet, (.groups | join(","))), .public[0].public, .public[0].private' <<<"$output"
    [ "$output" = "aws
p4d.24xlarge
i-0123456789abcdef0
us-east-1
us-east-1a
eni-0a1
subnet-0a
sg-0123,sg-0456
198.51.100.7
10.77.0.1" ]
}

@test "identity where the metadata service is away: a warning, no failure" {
    export AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:9
    run -0 --separate-stderr "$BIN/portcheck" --cloud --json
    [ "$(finding cloud.metadata)" = warn ]
}

# --- files ------------------------------------------------------------------------

@test "a file: the group that a cluster needs passes" {
    file_has "$(group sg-0123 "$SELF" "$SELF")"
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --efa
    audit 0 "$BATS_TEST_TMPDIR/groups.json"
}

@test "a file: EFA's trap fails with EFA and warns where that is not known" {
    file_has "$(group sg-0123 "$SELF" "$ANYWHERE")"
    audit 1 "$BATS_TEST_TMPDIR/groups.json" --efa
    [[ $output == *"0.0.0.0/0 does not count for EFA"* ]]
    [[ $output == *"-> aws ec2 authorize-security-group-egress --group-id sg-0123 --ip-permissions 'IpProtocol=-1,UserIdGroupPairs=[{GroupId=sg-0123}]'"* ]]
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --json
    [ "$(finding cloud.efa)" = pass,warn ]
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --efa=no --json
    [ "$(finding cloud.efa)" = "" ]
    valid
}

@test "a file: only MASTER_PORT is open" {
    file_has "$(group sg-0123 '{"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500,
        "UserIdGroupPairs": [{"GroupId": "sg-0999"}, {"GroupId": "sg-0123"}]}' "$ANYWHERE")"
    audit 1 "$BATS_TEST_TMPDIR/groups.json" --efa=no
    [[ $output == *"MASTER_PORT 29500 is open, but NCCL"*"--group-id sg-0123 "* ]]
    # Whatever MASTER_PORT is.
    MASTER_PORT=4000 audit 1 "$BATS_TEST_TMPDIR/groups.json" --efa=no
    [[ $output == *"TCP 4000,32768-60999 cannot enter"*"the rules only open 29500"* ]]
}

@test "a file: what a prefix list decides is neither open nor closed, and its entries are the way on" {
    local rules='{"IpProtocol": "tcp", "FromPort": 29500, "ToPort": 29500, "UserIdGroupPairs": [{"GroupId": "sg-0123"}]}'
    rules+=', {"IpProtocol": "tcp", "FromPort": 40000, "ToPort": 50000, "PrefixListIds": [{"PrefixListId": "pl-0a"}, {"PrefixListId": "pl-0b"}]},
        {"IpProtocol": "tcp", "FromPort": 1024, "ToPort": 65535, "PrefixListIds": [{"PrefixListId": "pl-0a"}]}'
    file_has "$(group sg-0123 "$rules" "$ANYWHERE")"
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --efa=no --json
    [ "$(finding cloud.ingress)" = warn ]
    [ "$(jq -r '.findings[] | select(.check == "cloud.ingress").fix[]' <<<"$output")" = \
        "aws ec2 get-managed-prefix-list-entries --prefix-list-id pl-0a
aws ec2 get-managed-prefix-list-entries --prefix-list-id pl-0b" ]
    # What is not known is absent; what is open whatever the lists hold is not.
    [ "$(jq -c '.data.audit.pairs[0] | [has("trains"), has("all_traffic"), .tcp]' <<<"$output")" = '[false,false,"29500"]' ]
    valid
    audit 1 "$BATS_TEST_TMPDIR/groups.json" --efa=no --strict
}

@test "a file: of many groups and no node each is judged by itself, and fails only if none will do" {
    local ssh='{"IpProtocol": "tcp", "FromPort": 22, "ToPort": 22, "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}'
    file_has "$(group sg-0123 "$SELF" "$SELF"), $(group sg-0456 "$ssh" "$ANYWHERE")"
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --json
    [ "$(jq -r '.findings[] | "\(.check) \(.subject) \(.status)"' <<<"$output")" = \
        "cloud.alone sg-0123 pass
cloud.alone sg-0456 warn" ]
    [[ $output == *"assumed that nodes carry this group alone: --group says what they do carry"* ]]
    [ "$(jq -c '[.data.audit.alone[].trains]' <<<"$output")" = '[true,false]' ]
    valid
    audit 0 "$BATS_TEST_TMPDIR/groups.json" --group sg-0123 --group sg-0456
    file_has "$(group sg-0123 "$ssh" "$ANYWHERE"), $(group sg-0456 "$ssh" "$ANYWHERE")"
    audit 1 "$BATS_TEST_TMPDIR/groups.json" --json
    [ "$(finding cloud.alone)" = fail ]
    file_has "$(group sg-0123 "$SELF" "$SELF" | jq -c '.VpcId = "vpc-1"'), $(group sg-0456 "$ssh" "$ANYWHERE" | jq -c '.VpcId = "vpc-2"')"
    audit 2 "$BATS_TEST_TMPDIR/groups.json" --group sg-0123 --group sg-0456
    [[ $stderr == *"sg-0123 is of vpc-1 and sg-0456 of vpc-2: no interface has both"* ]]
}

@test "stdin, a pipe, several files, several documents in one" {
    file_has "$(group sg-0123 "$SELF" "$SELF")"
    printf '{"Reservations": [{"Instances": [%s]}]}' "$(two_efa)" >"$BATS_TEST_TMPDIR/nodes.json"
    audit 0 "$BATS_TEST_TMPDIR/groups.json" "$BATS_TEST_TMPDIR/nodes.json" --json
    [ "$(jq -c '[.data.audit.nodes[].names]' <<<"$output")" = '[["i-01","i-02"]]' ]
    cat "$BATS_TEST_TMPDIR"/*.json | audit 0 - --json
    run -0 --separate-stderr bash -c 'cat "$1"/*.json | "$BIN/portcheck" --audit=- --json' _ "$BATS_TEST_TMPDIR"
    [ "$(jq -c '[.data.audit.nodes[].names]' <<<"$output")" = '[["i-01","i-02"]]' ]
    run -0 --separate-stderr bash -c '"$BIN/portcheck" --cloud --audit <(cat "$1"/groups.json)' _ "$BATS_TEST_TMPDIR"
}

@test "what is no such document is our trouble or the line that was typed, not the cluster's" {
    echo '{"Vpcs": []}' >"$BATS_TEST_TMPDIR/x"
    audit 3 "$BATS_TEST_TMPDIR/x"
    [[ $stderr == *"nothing that aws ec2 describe-..., gcloud compute"* ]]
    audit 2 /no/such/file
    audit 2 "$BATS_TEST_TMPDIR"
    audit 3 - --deadline 300ms < <(sleep 2)
    [[ $stderr == *"said nothing for 300 ms"* ]]
    audit 2 --group default
    audit 2 /dev/null --apply
    run -2 --separate-stderr "$BIN/portcheck" --cloud 10.0.0.1
}

# --- EC2 ---------------------------------------------------------------------------

@test "live: judged as EC2 says, and as its JSON from the aws command is" {
    [ -x /usr/bin/aws ] || skip "awscli is not here"
    use_keys
    ec2_has "$(group sg-0123 "$SELF" "$ANYWHERE")" "$(two_efa)"
    audit 1 --group sg-0123 --json
    [ "$(finding cloud.efa)" = fail,pass ]
    local live
    live=$(jq -S .data.audit <<<"$output")
    for what in describe-security-groups describe-instances; do
        aws_says "$what"
    done >"$BATS_TEST_TMPDIR/all.json"
    audit 1 "$BATS_TEST_TMPDIR/all.json" --json
    [ "$(jq -S .data.audit <<<"$output")" = "$live" ]
    # The rules as describe-security-group-rules lists them are judged in t_secgroup.
}

@test "the lines that are printed do what they say, typed into a shell with AWS's own command" {
    [ -x /usr/bin/aws ] || skip "awscli is not here"
    use_keys
    ec2_has "$(group sg-0123 "" "$ANYWHERE"), $(group sg-0456 "" "")" \
        "$(instance 1 efa '{"GroupId": "sg-0123", "GroupName": "n"}'), $(instance 2 efa '{"GroupId": "sg-0456", "GroupName": "n"}')"
    audit 1 --group sg-0123 --group sg-0456 --json
    jq -r '[.findings[].fix // [] | .[]] | unique | .[]' <<<"$output" >"$BATS_TEST_TMPDIR/lines"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/lines")" = 4 ]
    aws() { shift; aws_says "$@"; }
    # shellcheck source=/dev/null
    . "$BATS_TEST_TMPDIR/lines" >/dev/null
    audit 0 --group sg-0123 --group sg-0456
}

@test "pages are read to the end" {
    use_keys
    local many id
    many=$(group sg-0123 "$SELF" "$SELF")
    for id in 1 2 3 4 5 6 7; do many+=", $(group "sg-$id" "" "")"; done
    ec2_has "$many" "$(two_efa), $(instance 3 efa '{"GroupId": "sg-7", "GroupName": "n"}, {"GroupId": "sg-0123", "GroupName": "n"}')" "" '{"page": 1}'
    audit 0 --group sg-0123 --json
    [ "$(jq '[.data.audit.nodes[].names[]] | length' <<<"$output")" = 3 ]
    # sg-7 was named by nobody, but an interface carries it.
    [ "$(jq -c '[.data.audit.groups[].id]' <<<"$output")" = '["sg-0123","sg-7"]' ]
    [ "$(finding cloud.groups)" = warn ]
}

@test "subnets: network ACLs are asked for, and AZs matter to EFA" {
    use_keys
    local g='{"GroupId": "sg-0123", "GroupName": "n"}'
    ec2_has "$(group sg-0123 "$SELF" "$SELF")" "$(instance 1 efa "$g"), $(instance 2 efa "$g" subnet-0b us-east-1b)" \
        '{"NetworkAclId": "acl-0b", "Associations": [{"SubnetId": "subnet-0b"}], "Entries": [
          {"RuleNumber": 100, "Egress": false, "Protocol": "-1", "RuleAction": "allow", "CidrBlock": "0.0.0.0/0"},
          {"RuleNumber": 100, "Egress": true, "Protocol": "6", "RuleAction": "allow", "CidrBlock": "0.0.0.0/0",
           "PortRange": {"From": 1, "To": 1024}}]}'
    audit 1 --group sg-0123 --json
    [ "$(finding cloud.subnet)" = fail ]
    [[ $output == *"run-instances"*"--instance-type p4d.24xlarge"*"SubnetId=subnet-0a,Groups=sg-0123"* ]]
    [ "$(finding cloud.acl)" = fail ]
    # Every failure says what to type.
    jq -e 'all(.findings[] | select(.status == "fail"); .fix | length > 0)' <<<"$output"
    [[ $output == *"create-network-acl-entry --network-acl-id acl-0b --egress --rule-number 99 --protocol -1 --rule-action allow --cidr-block 10.77.0.0/28"* ]]
}

@test "EC2 throttles: asked again within the deadline, and told when that is over" {
    use_keys
    ec2_has "$(group sg-0123 "$SELF" "$SELF")" "" "" '{"throttle": 2}'
    audit 0 --group sg-0123
    [ "$(actions | grep -c RequestLimitExceeded)" = 2 ]
    ec2_has "$(group sg-0123 "$SELF" "$SELF")" "" "" '{"throttle": 1000}'
    audit 3 --group sg-0123 --deadline 1s
    [[ $output == *"EC2 throttles this account's requests"* ]]
}

@test "what may not be read: what can be seen is judged, and what is missing is said" {
    use_keys
    ec2_has "$(group sg-0123 "$SELF" "$ANYWHERE")" "$(two_efa)" "" '{"deny": ["DescribeInstances"]}'
    audit 0 --group sg-0123 --json
    [ "$(finding cloud.api)" = skip ]
    [ "$(finding cloud.efa)" = pass,warn ]
    ec2_has "" "" "" '{"deny": ["DescribeSecurityGroups"]}'
    use_imds
    run -3 --separate-stderr "$BIN/portcheck" --audit
    [[ $output == *"may not do that (UnauthorizedOperation), so the groups cannot be judged"*"ec2:DescribeSecurityGroups"* ]]
    [[ $output == *sg-0123,sg-0456* ]]
    [[ $output != *AbCdEf* ]]
}

@test "wrong keys, a wrong group, no answer, a login page: one sentence each, exit 3" {
    use_keys
    ec2_has "$(group sg-0123 "$SELF" "$SELF")"
    AWS_SECRET_ACCESS_KEY=wrong audit 3 --group sg-0123
    [[ $output == *"the secret access key does not belong to the access key id"* ]]
    AWS_SESSION_TOKEN=wrong audit 3 --group sg-0123
    [[ $output == *"the access key is not valid here"* ]]
    audit 3 --group sg-0999
    [[ $stderr == *"there is no security group sg-0999 in us-east-1"* ]]
    AWS_ENDPOINT_URL_EC2=http://127.0.0.1:9 audit 3 --group sg-0123
    [[ $stderr == *"no answer from http://127.0.0.1:9/, where AWS_ENDPOINT_URL_EC2 points: "*"-> unset AWS_ENDPOINT_URL_EC2 "* ]]
    ec2_has "" "" "" '{"html": true}'
    audit 3 --group sg-0123
    [[ $stderr == *"not the XML that it writes"* ]]
    ec2_has "" "" "" '{"hang": true}'
    local start=$SECONDS
    audit 3 --group sg-0123 --deadline 1s
    ((SECONDS - start < 9)) # the default is 10
    AWS_REGION='' audit 2 --group sg-0123
    [[ $stderr == *"which AWS region?"* ]]
}

# --- apply -------------------------------------------------------------------------

@test "apply: dry runs of all first, then the rules, then it reads again; never takes one away" {
    use_keys
    ec2_has "$(group sg-0123 "" "$ANYWHERE")" "$(two_efa)"
    audit 0 --group sg-0123 --apply
    run -0 actions
    [ "$output" = "DescribeSecurityGroups ok
DescribeInstances ok
AuthorizeSecurityGroupIngress DryRunOperation
AuthorizeSecurityGroupEgress DryRunOperation
AuthorizeSecurityGroupIngress ok
AuthorizeSecurityGroupEgress ok
DescribeSecurityGroups ok
DescribeInstances ok
DescribeInstanceTypes ok" ]
    [ "$(jq -c '.SecurityGroups[0].IpPermissionsEgress | length' "$EC2")" = 2 ]
    # Nothing is left to do.
    : >"$EC2_LOG"
    audit 0 --group sg-0123 --apply
    run ! grep -q Authorize "$EC2_LOG"
}

@test "apply: groups beside the cluster's stay as they are, whoever else carries them" {
    use_keys
    local both='{"GroupId": "sg-0123", "GroupName": "n"}, {"GroupId": "sg-0456", "GroupName": "n"}' before
    ec2_has "$(group sg-0123 "$SELF" "$SELF"), $(group sg-0456 "" "")" "$(instance 1 efa "$both"), $(instance 2 efa "$both")"
    before=$(jq -S . "$EC2")
    audit 0 --group sg-0123 --apply --json
    [ "$(finding cloud.groups)" = warn ] # with the lines, for who knows those others
    [[ $output == *"--group-id sg-0456 "* ]]
    run ! grep -q Authorize "$EC2_LOG"
    [ "$(jq -S . "$EC2")" = "$before" ]
}

@test "apply: a rule that a prefix list may make needless is not added" {
    use_keys
    ec2_has "$(group sg-0123 '{"IpProtocol": "-1", "PrefixListIds": [{"PrefixListId": "pl-0a"}]}' "$ANYWHERE")"
    audit 0 --group sg-0123 --efa=no --apply --json
    [ "$(finding cloud.ingress)" = warn ]
    run ! grep -q Authorize "$EC2_LOG"
}

@test "apply: a rule that is there already is success" {
    use_keys
    ec2_has "$(group sg-0123 "$SELF" "")" "" "" '{"hide": 1000}'
    audit 1 --group sg-0123 --apply # added, but EC2 does not show it yet
    [[ $output == *"cloud.apply"*"added: all traffic to sg-0123"* ]]
    audit 1 --group sg-0123 --apply
    [[ $output == *"was there already: all traffic to sg-0123"* ]]
    grep -q InvalidPermission.Duplicate "$EC2_LOG"
    # One that shows itself after a moment is waited for.
    ec2_has "$(group sg-0123 "$SELF" "")" "" "" '{"hide": 4}'
    audit 0 --group sg-0123 --apply
}

@test "apply: where one rule may not be added, nothing is changed" {
    use_keys
    ec2_has "$(group sg-0123 "" "")" "" "" '{"deny": ["AuthorizeSecurityGroupEgress"]}'
    audit 1 --group sg-0123 --apply
    [[ $output == *"nothing was changed: EC2's AuthorizeSecurityGroupEgress: these credentials may not do that"* ]]
    run ! grep -q 'Authorize[A-Za-z]* ok' "$EC2_LOG"
    ec2_has "$(group sg-0123 "" "$ANYWHERE")" "" "" '{"most": 1}'
    audit 3 --group sg-0123 --apply
    [[ $output == *"the group has as many rules as it may have"* ]]
}

# --- keys, secrets, the plug-in -------------------------------------------------------

@test "the credential chain picks what AWS's own does" {
    export AWS_ENDPOINT_URL_EC2="http://127.0.0.1:$EC2_PORT" AWS_REGION=us-east-1
    ec2_has "$(group sg-0123 "$SELF" "$SELF")"
    mkdir -p "$HOME/.aws" "$HOME/other"
    printf '[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = %s\n' "$SECRET" >"$HOME/.aws/credentials"
    printf '[dev]\naws_access_key_id=ASIADEV\naws_secret_access_key=%s\naws_session_token=%s\n' "$SECRET" "$TOKEN" >>"$HOME/.aws/credentials"
    printf '[profile conf]\naws_access_key_id = AKIACONF\naws_secret_access_key = %s\n[profile dev]\naws_access_key_id=AKIAWRONG\naws_secret_access_key=x\n' "$SECRET" >"$HOME/.aws/config"
    sed 's/AKIADEFAULT/AKIAOTHER/' "$HOME/.aws/credentials" >"$HOME/other/keys"
    same_choice ''
    same_choice '' AWS_PROFILE=dev
    same_choice '' AWS_PROFILE=conf
    same_choice '' AWS_ACCESS_KEY_ID=AKIAENV "AWS_SECRET_ACCESS_KEY=$SECRET"
    same_choice '' AWS_ACCESS_KEY_ID=AKIAENV "AWS_SECRET_ACCESS_KEY=$SECRET" AWS_PROFILE=dev
    same_choice dev AWS_ACCESS_KEY_ID=AKIAENV "AWS_SECRET_ACCESS_KEY=$SECRET"
    same_choice '' "AWS_SHARED_CREDENTIALS_FILE=$HOME/other/keys"
    same_choice '' "AWS_SHARED_CREDENTIALS_FILE=$HOME/none" "AWS_CONFIG_FILE=$HOME/none" \
        AWS_EC2_METADATA_DISABLED=false "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:$IMDS_PORT/"
    rm -r "$HOME/.aws"
    mkdir "$HOME/box"
    printf '{"AccessKeyId": "ASIABOX", "SecretAccessKey": "%s", "Token": "%s", "Expiration": "2099-01-01T00:00:00Z"}' \
        "$SECRET" "$TOKEN" >"$HOME/box/keys"
    serve "$HOME/said" -u -m http.server 0 --bind 127.0.0.1 --directory "$HOME/box"
    local box
    box=$(grep -o 'http://[^/]*/' "$HOME/said")
    same_choice '' "AWS_CONTAINER_CREDENTIALS_FULL_URI=${box}keys" AWS_CONTAINER_AUTHORIZATION_TOKEN=x
    # A container's role goes before the instance's.
    same_choice '' "AWS_CONTAINER_CREDENTIALS_FULL_URI=${box}keys" AWS_EC2_METADATA_DISABLED=false \
        "AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:$IMDS_PORT/"
}

@test "a Kubernetes service account's role: STS is asked with the pod's token, which nobody sees" {
    local web=web.identity-tok/en+of.a_pod all="$BATS_TEST_TMPDIR/all"
    ec2_has "$(group sg-0123 "$SELF" "$SELF")"
    mkdir -p "$HOME/.aws" "$BATS_TEST_TMPDIR/pod"
    printf '%s\n' "$web" >"$BATS_TEST_TMPDIR/pod/..data"
    ln -s ..data "$BATS_TEST_TMPDIR/pod/token" # as projected volumes have it
    printf '[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key = %s\n' "$SECRET" >"$HOME/.aws/credentials"
    export AWS_ENDPOINT_URL="http://127.0.0.1:$EC2_PORT" AWS_REGION=us-east-1
    export AWS_WEB_IDENTITY_TOKEN_FILE="$BATS_TEST_TMPDIR/pod/token" AWS_ROLE_ARN=arn:aws:iam::123456789012:role/pod+1
    audit 0 --group sg-0123 --debug
    grep -q '^AssumeRoleWithWebIdentity ok - .*"RoleSessionName": "windsock"' "$EC2_LOG"
    grep -q '^DescribeSecurityGroups ok ASIAWEB ' "$EC2_LOG"
    [[ $stderr == *"keys from the service account's role"* ]]
    echo "$output$stderr" >"$all"
    # AWS's own order: before a profile, after keys, and not beside --profile
    : >"$EC2_LOG"
    AWS_PROFILE=default audit 0 --group sg-0123
    grep -q '^DescribeSecurityGroups ok ASIAWEB ' "$EC2_LOG"
    : >"$EC2_LOG"
    audit 0 --group sg-0123 --profile default
    AWS_ACCESS_KEY_ID=AKIAENV AWS_SECRET_ACCESS_KEY=$SECRET audit 0 --group sg-0123
    run ! grep AssumeRole "$EC2_LOG"
    # what is in the way is said
    AWS_ROLE_ARN=arn:aws:iam::1:role/x audit 4 --group sg-0123
    [[ $stderr == *"STS lends this pod no keys: AccessDenied: Not authorized"*"trust policy"* ]]
    echo "$web"x >"$BATS_TEST_TMPDIR/old"
    AWS_WEB_IDENTITY_TOKEN_FILE=$BATS_TEST_TMPDIR/old audit 4 --group sg-0123
    [[ $stderr == *"STS lends this pod no keys: InvalidIdentityToken"* ]]
    rm "$BATS_TEST_TMPDIR/old"
    AWS_ENDPOINT_URL=http://127.0.0.1:9 audit 4 --group sg-0123
    [[ $stderr == *"no answer from http://127.0.0.1:9/, where AWS_ENDPOINT_URL points: "*"-> unset AWS_ENDPOINT_URL "* ]]
    echo "$stderr" >>"$all"
    unset AWS_ROLE_ARN
    audit 4 --group sg-0123
    [[ $stderr == *"AWS_WEB_IDENTITY_TOKEN_FILE is set, but not AWS_ROLE_ARN"* ]]
    run ! grep -F -e "$web" -e "$SECRET" -e "$TOKEN" "$all" "$EC2_LOG"
}

same_choice() { # PROFILE-BY-OPTION VARIABLES...: our key id in EC2's log is botocore's
    local theirs ours
    theirs=$(env "${@:2}" /usr/bin/python3 -c 'import botocore.session, sys
s = botocore.session.Session(profile=sys.argv[1] or None)
print(s.get_credentials().access_key)' "$1")
    : >"$EC2_LOG"
    env "${@:2}" "$BIN/portcheck" --cloud --audit --group sg-0123 ${1:+--profile "$1"} >/dev/null
    ours=$(cut -d' ' -f2,3 "$EC2_LOG" | sort -u)
    [ "$ours" = "ok $theirs" ] || { echo "$*: $ours, AWS's own takes $theirs" >&2; return 1; }
}

@test "no secret is printed, logged, or on a command line" {
    use_keys
    local how all="$BATS_TEST_TMPDIR/all" pid
    ec2_has "$(group sg-0123 "" "")"
    for how in --debug --verbose --json --apply --format=junit; do
        "$BIN/portcheck" --cloud --audit --group sg-0123 "$how" --output "$all.$how" >>"$all" 2>&1 || :
    done
    AWS_SECRET_ACCESS_KEY="$SECRET"x "$BIN/portcheck" --audit --group sg-0123 --debug >>"$all" 2>&1 || :
    AWS_SESSION_TOKEN="$TOKEN"$'\n' "$BIN/portcheck" --audit --group sg-0123 --debug >>"$all" 2>&1 || :
    AWS_ENDPOINT_URL_EC2=http://127.0.0.1:9 "$BIN/portcheck" --audit --group sg-0123 --debug >>"$all" 2>&1 || :
    ec2_has "" "" "" '{"hang": true}'
    cat "$EC2_LOG" >>"$all"
    : >"$EC2_LOG" # of those before: this one's question is what is waited for
    "$BIN/portcheck" --audit --group sg-0123 --deadline 2s >>"$all" 2>&1 3>&- &
    pid=$!
    for _ in {1..100}; do # while it waits for an answer
        tr '\0' ' ' <"/proc/$pid/cmdline" >>"$all"
        ! grep -q Describe "$EC2_LOG" || break
        sleep 0.05
    done
    wait "$pid" || :
    grep -q 'portcheck --audit --group sg-0123' "$all"
    run ! grep -rF -e "$SECRET" -e "$TOKEN" -e ecret%2FExample "$BATS_TEST_TMPDIR" "$EC2_LOG"
}

@test "without the plug-in: which file, where, which package; exit 4" {
    use_keys
    WINDSOCK_PLUGINS=/no/such/folder audit 4 --group sg-0123
    [[ $stderr == *"curl.so is not there (looked in /no/such/folder)"*libcurl4-openssl-dev* ]]
    mkdir "$BATS_TEST_TMPDIR/so"
    echo junk >"$BATS_TEST_TMPDIR/so/curl.so"
    WINDSOCK_PLUGINS=$BATS_TEST_TMPDIR/so audit 4 --group sg-0123
    [[ $stderr == *"cannot load $BATS_TEST_TMPDIR/so/curl.so"*"apt-get install libcurl4"* ]]
    run -0 ldd "$BIN/portcheck"
    [[ $output != *curl* ]]
}

@test "no keys anywhere: exit 4, and how to go on without them" {
    AWS_REGION=us-east-1 audit 4 --group sg-0123
    [[ $stderr == *"no AWS credentials"*"portcheck --cloud --audit -"* ]]
}
