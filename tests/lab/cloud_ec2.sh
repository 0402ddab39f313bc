# shellcheck shell=bash
# Stand-ins for EC2 and its metadata service on loopback, for the life of a file, and what they have
# to say. Load it: load cloud_ec2.sh
# shellcheck disable=SC2034 # those that load this use it
load cloud.sh

SECRET=secret/Example+Key
TOKEN=tok/en+example==

setup_file() {
    /usr/bin/python3 -c 'import botocore' 2>/dev/null || skip "python3-botocore is not here"
    export EC2="$BATS_FILE_TMPDIR/state" EC2_LOG="$BATS_FILE_TMPDIR/log"
    export PIDS="$BATS_FILE_TMPDIR/pids"
    echo '{}' >"$EC2"
    : >"$PIDS"
    serve "$BATS_FILE_TMPDIR/port" "$ROOT/tests/lab/ec2_server" 0 "$EC2" "$EC2_LOG"
    EC2_PORT=$(<"$BATS_FILE_TMPDIR/port")
    IMDS_PORT=$((EC2_PORT > 40000 ? EC2_PORT - 7000 : EC2_PORT + 7000))
    serve /dev/null "$ROOT/tests/lab/imds_server" 127.0.0.1 "$IMDS_PORT" aws --hop 64
    export EC2_PORT IMDS_PORT
    wait_for bash -c "exec 3<>/dev/tcp/127.0.0.1/$IMDS_PORT"
}

teardown_file() {
    local pid
    while read -r pid; do
        kill "$pid" 2>/dev/null || :
    done <"${PIDS:-/dev/null}"
}

serve() { # FILE-FOR-STDOUT CMD...
    /usr/bin/python3 "${@:2}" >"$1" 2>"$BATS_FILE_TMPDIR/err" 3>&- </dev/null &
    echo $! >>"$PIDS"
    [ "$1" = /dev/null ] || wait_for test -s "$1"
}

setup() {
    no_settings
    : >"$EC2_LOG"
    export AWS_EC2_METADATA_DISABLED=true
}

use_keys() {
    export AWS_ENDPOINT_URL_EC2="http://127.0.0.1:$EC2_PORT" AWS_REGION=us-east-1
    export AWS_ACCESS_KEY_ID=ASIAEXAMPLE AWS_SECRET_ACCESS_KEY=$SECRET AWS_SESSION_TOKEN=$TOKEN
}

use_imds() {
    export AWS_EC2_METADATA_DISABLED=false AWS_EC2_METADATA_SERVICE_ENDPOINT="http://127.0.0.1:$IMDS_PORT"
}

# --- what EC2 and files say --------------------------------------------------------

SELF='{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": "sg-0123"}]}'
ANYWHERE='{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0", "Description": "a <b> & c"}]}'

group() { # ID IN OUT
    printf '{"GroupId": "%s", "GroupName": "n", "Description": "d", "OwnerId": "123456789012",
        "VpcId": "vpc-0a", "IpPermissions": [%s], "IpPermissionsEgress": [%s]}' "$@"
}

instance() { # N KIND GROUPS-JSON [SUBNET [ZONE]]
    printf '{"InstanceId": "i-0%s", "InstanceType": "p4d.24xlarge", "SubnetId": "%s", "VpcId": "vpc-0a",
        "Placement": {"AvailabilityZone": "%s"}, "NetworkInterfaces": [{"NetworkInterfaceId": "eni-0%s",
        "InterfaceType": "%s", "SubnetId": "%s", "VpcId": "vpc-0a", "Groups": [%s],
        "PrivateIpAddresses": [{"PrivateIpAddress": "10.77.0.%s", "Primary": true}]}]}' \
        "$1" "${4-subnet-0a}" "${5-us-east-1a}" "$1" "$2" "${4-subnet-0a}" "$3" "$1"
}

ec2_has() { # GROUPS [INSTANCES [ACLS [MOOD]]]: comma-separated JSON each
    printf '{"SecurityGroups": [%s], "Instances": [%s], "NetworkAcls": [%s], "Mood": %s}' \
        "$1" "${2-}" "${3-}" "${4-"{}"}" >"$EC2.new"
    mv "$EC2.new" "$EC2"
}

file_has() { # GROUPS
    printf '{"SecurityGroups": [%s]}' "$1" >"$BATS_TEST_TMPDIR/groups.json"
}

two_efa() {
    echo "$(instance 1 efa '{"GroupId": "sg-0123", "GroupName": "n"}'), $(instance 2 efa '{"GroupId": "sg-0123", "GroupName": "n"}')"
}

audit() { # EXIT-CODE ARGS...
    run "-$1" --separate-stderr "$BIN/portcheck" --cloud --audit "${@:2}"
}

actions() { # what was asked of EC2, without parameters
    cut -d' ' -f1,2 "$EC2_LOG"
}

aws_says() { # ARGS...: AWS's own command, at our stand-in
    env -u AWS_ENDPOINT_URL_EC2 AWS_PAGER= /usr/bin/aws --endpoint-url "http://127.0.0.1:$EC2_PORT" ec2 "$@"
}
