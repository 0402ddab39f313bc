#!/usr/bin/env bats
# The files under scripts/ for CI systems, monitoring and clusters, one by one: what
# they contain is run as its owner would run it, with the real windsock where its
# verdict does not matter and a stand-in where it does.
# shellcheck disable=SC2016 # scripts for another shell stand in single quotes
bats_require_minimum_version 1.5.0
load glue.sh
load ../wait.sh

@test "each file says what it is and how to install it, in its first lines" {
    while read -r file; do
        head -n 12 "$file" | grep -qE "^# ${file##*/}: " || { echo "$file does not say what it is"; return 1; }
        [[ $file == */common.sh || $file == */windsock.conf ]] ||
            [ "$(head -n 15 "$file" | grep -cE '^#   [^ ]')" -ge 3 ] || { echo "$file: no three lines of installing"; return 1; }
    done < <(find "$S"/{slurm,nhc,parallelcluster,kubernetes,github,gitlab,prometheus,systemd} -type f -not -name common.sh -not -name '*.json')
}

@test "what is installed needs no interpreter but the shell" {
    while read -r file; do
        read -r line <"$ROOT/$file" || :
        [[ $line != '#!'* || $line =~ ^'#!/'(usr/)?bin/(env )?(ba)?sh( |$) ]] || { echo "$file: $line"; return 1; }
    done < <(make -sC "$ROOT" --no-print-directory --eval='glue: ; @printf "%s\n" $(GLUE)' glue)
}

@test "what is installed asks for no younger shell than RHEL 8's bash 4.4" {
    local file younger='EPOCHSECONDS|EPOCHREALTIME|BASH_ARGV0|SRANDOM|BASH_MONOSECONDS|GLOBSORT' # 5.0 to 5.3
    younger+='|wait (-[a-z]+ )*-[a-z]*[fp]|@[UuLKk]\}|\$\{[ |]'
    younger+='|localvar_inherit|assoc_expand_once|progcomp_alias|patsub_replacement|globskipdots|varredir_close'
    for file in '${x@U}' 'wait -n -p who' 'now=$EPOCHSECONDS' 'shopt -s localvar_inherit' 'x=${ date; }'; do
        grep -qE "$younger" <<<"$file"
    done
    while read -r file; do
        run -1 grep -nHE "$younger" <(sed 's/^ *#.*//; s/ # .*//' "$ROOT/$file")
    done < <(make -sC "$ROOT" --no-print-directory --eval='glue: ; @printf "%s\n" $(GLUE)' glue)
}

# --- Prometheus and systemd -------------------------------------------------------

@test "Prometheus: a file that promtool takes, readable by all, replaced in one step" {
    mkdir metrics
    run -0 --separate-stderr "$S/prometheus/windsock-textfile" metrics
    [ -z "$output" ]
    run -0 promtool check metrics <metrics/windsock.prom
    [ -z "$output" ]
    [ "$(stat -c %a metrics/windsock.prom)" = 644 ]
    [ "$(ls -A metrics)" = windsock.prom ]
    stand_in windsock 'printf "windsock_verdict{verdict=\"fail\"} 1\n"; exit 1'
    run -0 "$S/prometheus/windsock-textfile" metrics # a sick node is a result
    grep -q fail metrics/windsock.prom
}

@test "Prometheus: for a journal it says the verdict and what is amiss, and nothing else" {
    mkdir metrics
    run -0 env WINDSOCK_SAY=1 NCCL_SOCKET_IFNAME=eth77 "$S/prometheus/windsock-textfile" metrics
    [ "${lines[0]}" = "windsock: fail" ]
    grep -qx 'fail  lint.ifname.nomatch  NCCL_SOCKET_IFNAME (environment)' <<<"$output"
    [ "$(grep -c ^fail <<<"$output")" = "$(grep -c 'status="fail"} 1$' <(grep ^windsock_check metrics/windsock.prom))" ]
    run ! grep -vxE 'windsock: fail|(fail|warn|error)  [a-z_.]+  .+' <<<"$output"
    stand_in windsock 'exit 3'
    run -3 env WINDSOCK_SAY=1 "$S/prometheus/windsock-textfile" metrics
    [[ $output != *"windsock: "[a-z]* ]] # the old metrics' verdict is not today's
}

@test "Prometheus: when windsock could not do its job the old metrics stay" {
    mkdir metrics
    echo old >metrics/windsock.prom
    for script in 'echo half; exit 3' 'exit 2' 'kill -9 $$' 'exit 0' 'echo "not it"; exit 0'; do
        stand_in windsock "$script"
        run -3 "$S/prometheus/windsock-textfile" metrics
        [ "$(cat metrics/windsock.prom)" = old ]
        [ "$(ls -A metrics)" = windsock.prom ]
    done
    run -2 "$S/prometheus/windsock-textfile" nowhere
}

@test "Prometheus: one that is ended by a signal leaves nothing in the collector's folder" {
    mkdir metrics
    mkfifo begun
    stand_in windsock "echo >begun; exec sleep 1"
    "$S/prometheus/windsock-textfile" metrics 3>&- &
    read -r _ <begun
    kill -TERM $!
    code=0
    wait $! || code=$?
    [ "$code" = 143 ] # as the unit's SuccessExitStatus= knows it
    [ -z "$(ls -A metrics)" ]
}

@test "Prometheus: alerts fire on what windsock really writes" {
    mkdir metrics
    run -0 env NCCL_SOCKET_IFNAME=eth77 "$S/prometheus/windsock-textfile" metrics
    run -0 promtool check rules "$S/prometheus/alerts.yml"
    labels=$(sed -n 's/^windsock_check_status\({.*check="lint.ifname.nomatch".*status="fail"}\) 1$/\1/p' metrics/windsock.prom)
    verdict=$(sed -n 's/^windsock_verdict\({.*verdict="fail"}\) 1$/\1/p' metrics/windsock.prom)
    host=$(uname -n)
    driver=$(sed -n 's/^windsock_check_status\({.*check="gpu.driver".*\) 1$/\1/p' metrics/windsock.prom | head -n 1)
    [ -n "$labels" ] && [ -n "$verdict" ] && [ -n "$driver" ]
    cat >test.yml <<Y
rule_files: [$S/prometheus/alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'windsock_verdict$verdict', values: '1x30'}
      - {series: 'windsock_check_status$labels', values: '1x30'}
      - {series: 'windsock_verdict${verdict/fail/error}', values: '1x30'}
      - {series: 'windsock_check_status${driver/%status=*/status=\"warn\"\}}', values: '1x30'}
      - {series: 'windsock_run_timestamp_seconds{command="windsock",host="$host"}', values: '0x120'}
    promql_expr_test:
      - {expr: 'count(ALERTS{alertstate="firing"})', eval_time: 20m, exp_samples: [{labels: '{}', value: 4}]}
      - {expr: 'count by (alertname) (ALERTS{alertstate="firing",alertname=~"WindsockNodeLacks|WindsockGpuWithoutDriver"})', eval_time: 20m,
         exp_samples: [{labels: '{alertname="WindsockNodeLacks"}', value: 1}, {labels: '{alertname="WindsockGpuWithoutDriver"}', value: 1}]}
      - {expr: 'ALERTS{alertname="WindsockStale",alertstate="firing",host="$host"}', eval_time: 90m, exp_samples: [{labels: 'ALERTS{alertname="WindsockStale",alertstate="firing",command="windsock",host="$host",severity="ticket"}', value: 1}]}
Y
    run -0 promtool test rules test.yml
}

@test "systemd: the unit and its timer are understood" {
    command -v systemd-analyze >/dev/null || skip "needs systemd-analyze"
    mkdir units
    sed "s|/usr/local/bin/windsock-textfile|$S/prometheus/windsock-textfile|; /^Documentation=/d" \
        "$S/systemd/windsock.service" >units/windsock.service
    cp "$S/systemd/windsock.timer" units/
    run -0 systemd-analyze verify "$PWD"/units/windsock.{service,timer}
    [ -z "$output" ]
    echo 'Typo=yes' >>units/windsock.service # the check sees something
    run systemd-analyze verify "$PWD"/units/windsock.service
    [[ $output == *Typo* ]]
}

# --- Kubernetes ----------------------------------------------------------------------

@test "Kubernetes: the init container's own lines; the settings it leaves for the training" {
    file=$S/kubernetes/init-container.yaml
    [ "$(from "$file" 'd["spec"]["initContainers"][0]["command"]')" = "['sh', '-c']" ]
    from "$file" 'd["spec"]["initContainers"][0]["args"][0]' >init.sh
    # $(NAME) of a variable that the pod sets would be replaced before the shell sees it
    run ! grep -oE '\$\([A-Z_]+\)' init.sh
    export SETTINGS=$PWD
    run -0 sh -c "$(cat init.sh)"
    stand_in ifprobe "echo \"export NCCL_SOCKET_IFNAME='=eth5'\""
    stand_in torchrun 'echo "trains with $NCCL_SOCKET_IFNAME: $*"'
    for code in 0 3 4; do
        stand_in windsock "exit $code"
        run -0 sh -c "$(cat init.sh)"
    done
    [[ $output == *"says nothing about this node: the pod starts"* ]]
    run -0 sh -c "$(from "$file" 'd["spec"]["containers"][0]["args"][0]')"
    [ "$output" = "trains with =eth5: --standalone --nproc-per-node=gpu train.py" ]
    stand_in windsock 'exit 1'
    run -1 sh -c "$(cat init.sh)"
}

@test "Kubernetes: the init container has no privilege, and no pod a token" {
    file=$S/kubernetes/init-container.yaml
    may='d["spec"]["initContainers"][0]["securityContext"]'
    [ "$(from "$file" "${may}[\"runAsNonRoot\"], ${may}[\"seccompProfile\"][\"type\"]")" = "(True, 'RuntimeDefault')" ]
    [ "$(from "$file" "${may}[\"capabilities\"], ${may}[\"allowPrivilegeEscalation\"]")" = "({'drop': ['ALL']}, False)" ]
    [ "$(from "$file" 'd["spec"]["automountServiceAccountToken"]')" = False ]
}

@test "Kubernetes: the lines to be typed, pasted at once: logs are asked for when there are any" {
    stand_in kubectl 'case $1 in
        apply) : >applied ;;
        logs) echo >>asked; [ "$(grep -c "" asked)" -gt 2 ] ||
            { echo "Error from server (BadRequest): container \"windsock\" in pod \"x\" is waiting to start: ContainerCreating" >&2; exit 1; }
            [ -e applied ] && echo "PASS of $*" ;;
        esac'
    stand_in sleep 'exit 0'
    for file in job init-container; do
        rm -f asked applied
        sed -n '/^#   kubectl apply/,/done/s/^#   //p' "$S/kubernetes/$file.yaml" >typed.sh
        cd "$ROOT" || return # where the files that the lines name are
        sh -n "$BATS_TEST_TMPDIR/typed.sh"
        [ -e "$(sed -n 's/.*apply -f \([^ ]*\).*/\1/p' "$BATS_TEST_TMPDIR/typed.sh")" ]
        cd - || return
        run -0 --separate-stderr sh typed.sh
        [[ $output == *"PASS of logs"* ]]
    done
}

@test "Kubernetes: what node-problem-detector takes for a verdict: one line, and 0, 1 or 2" {
    npd=$S/kubernetes/npd/windsock-npd
    says() { # WINDSOCK'S EXIT CODE, THE SCRIPT'S, WORDS
        stand_in windsock "echo \"\$*\" >words; cat <<'T'
TAP version 14
not ok 1 - link.mtu eth0
  ---
  severity: \"warn\"
  message: \"is 1500\"
  ...
not ok 2 - gpu.xid 0000:18:00.0
  ---
  severity: \"fail\"
  message: \"fell off the bus$(printf '\033')[1m, twice\"
  ...
not ok 3 - limits.shm /dev/shm
  ---
  severity: \"fail\"
  message: \"is not there\"
  ...
1..3
T
exit $1"
        run "-$2" --separate-stderr "$npd"
        [ "$output" = "$3" ] || { echo "$1: $output"; return 1; }
        [ "$(cat words)" = "--here --quick --budget 45s --format tap" ]
    }
    says 0 0 "fit for training"
    says 1 1 "gpu.xid 0000:18:00.0: fell off the bus[1m, twice"
    says 4 1 "gpu.xid 0000:18:00.0: fell off the bus[1m, twice"
    says 3 2 "nothing is known: windsock's exit code 3, gpu.xid 0000:18:00.0: fell off the bus[1m, twice"
    says 2 2 "nothing is known: windsock's exit code 2, gpu.xid 0000:18:00.0: fell off the bus[1m, twice"
    stand_in windsock 'echo not ok 1 - gpu.xid; echo 1..1; exit 1'
    run -1 "$npd"
    [ "$output" = "windsock fails" ]
    for code in 1 4; do # a wrapper's, or a report that was cut
        run -2 "$npd" sh -c "echo 'image pull failed'; echo 'not ok 1 - a.b'; exit $code"
        [ "$output" = "nothing is known: sh ends with exit code $code and no report" ]
    done
    stand_in nsenter 'echo "nsenter: reassociate to namespace failed" >&2; exit 1' # a pod that may not
    run -2 "$npd" nsenter -t 1 -m -n -- /usr/local/bin/windsock
    [ "$output" = "nothing is known: nsenter ends with exit code 1 and no report" ]
    run -2 "$npd" ./no-windsock # another command, as of a DaemonSet
    [ "$output" = "./no-windsock cannot be run here (exit code 127)" ]
    stand_in nsenter 'echo "$*" >entered; exit 0'
    run -0 "$npd" nsenter -t 1 -m -n -- /usr/local/bin/windsock
    [ "$(cat entered)" = "-t 1 -m -n -- /usr/local/bin/windsock --here --quick --budget 45s --format tap" ]
    [[ $("$npd" --help) == "windsock-npd: a node's verdict"* ]]
}

@test "Kubernetes: node-problem-detector's file for it, as the detector checks it when it starts" {
    python3 - "$S/kubernetes/npd/windsock-monitor.json" "$S/kubernetes/npd/windsock-npd" <<'P'
import json, os, re, sys
d = json.load(open(sys.argv[1]))
def seconds(text):  # of Go's time.ParseDuration
    assert re.fullmatch(r"[0-9]+[sm]", text), text
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]
g = d["pluginConfig"]
assert set(d) <= {"plugin", "pluginConfig", "source", "conditions", "rules", "metricsReporting"}
assert set(g) <= {"invoke_interval", "timeout", "max_output_length", "concurrency",
                  "enable_message_change_based_condition_update", "skip_initial_status"}
assert d["plugin"] == "custom" and seconds(g["invoke_interval"]) > seconds(g["timeout"])
assert g["max_output_length"] > 180, "what the script says is cut"
said = open(sys.argv[2]).read()
for rule in d["rules"]:
    assert rule["type"] in ("temporary", "permanent") and set(rule) <= {"type", "condition", "reason", "path", "args", "timeout"}
    assert seconds(rule["timeout"]) <= seconds(g["timeout"])
    assert seconds(rule["timeout"]) > int(re.search(r"WINDSOCK_BUDGET:-([0-9]+)s", said)[1])
    assert rule["condition"] in [c["type"] for c in d["conditions"]]
    assert os.path.basename(rule["path"]) == os.path.basename(sys.argv[2])
    assert "install scripts/kubernetes/npd/windsock-npd " + os.path.dirname(rule["path"]) in said
P
}

@test "Kubernetes: the real windsock's verdict for node-problem-detector" {
    run "$S/kubernetes/npd/windsock-npd"
    [ "${#lines[@]}" = 1 ]
    [ "${#output}" -le 200 ]
    case $status in
    0) [ "$output" = "fit for training" ] ;;
    1) [[ $output == *": "* ]] ;;
    *) [ "$status" = 2 ] && [[ $output == "nothing is known: "* ]] ;;
    esac
}

@test "Kubernetes: the image that the job's first lines make has its commands on the PATH" {
    stand_in docker '[ "$1" = push ] || cat >Dockerfile; echo "$*" >>words'
    sed -n '/^#   printf/,/docker build/s/^#   //p' "$S/kubernetes/job.yaml" >build.sh
    run -0 sh build.sh
    image=$(from "$S/kubernetes/job.yaml" 'd[1]["spec"]["template"]["spec"]["containers"][0]["image"]')
    [ "$(cat words)" = $'build -t '"$image"$' -f - build/dist\npush '"$image" ] # nodes pull it; make dist made that folder
    run ! grep -n '^#   .*cd ' "$S"/kubernetes/*.yaml # the next lines name files by their paths
    # what docker would do with these lines, in a folder
    archive
    cp a.tar.gz windsock-1-linux-x86_64.tar.gz
    mkdir -p root/opt
    sed -n 's/^ADD \(.*\) \/opt\/$/tar -xzf \1 -C root\/opt/p' Dockerfile >do.sh
    sed -n 's/^RUN //p' Dockerfile | sed 's|/opt/windsock-|'"$PWD"'/root/opt/windsock-|; s| /opt/| root/opt/|' >>do.sh
    run -0 sh -eux do.sh
    path=$(sed -n 's/^ENV PATH=\(.*\):\$PATH$/\1/p' Dockerfile)
    "root$path/windsock" --version
}

# --- AWS ParallelCluster ---------------------------------------------------------------

node() { # TYPE: a folder that looks like a node's
    rm -rf root
    mkdir -p root/etc/parallelcluster root/opt/slurm/etc/scripts/prolog.d
    touch root/opt/slurm/etc/scripts/prolog.d/90_plcuster_health_check_manager
    printf 'stack_name=x\ncfn_node_type=%s\ncfn_region=us-east-1\n' "$1" >root/etc/parallelcluster/cfnconfig
}

install_on() { env ROOT="$PWD/root" "$S/parallelcluster/post-install" "$@"; }

@test "ParallelCluster: the head node gets the hooks, a compute node the tools, twice is once" {
    archive
    node HeadNode
    install_on "file://$PWD/a.tar.gz" "$SUM"
    run -0 install_on "file://$PWD/a.tar.gz" "$SUM"
    [[ $output == *"windsock"*" on this HeadNode" ]]
    [ "$(readlink root/opt/slurm/etc/scripts/prolog.d/95_windsock)" = /opt/slurm/etc/windsock/prolog ]
    [ -x root/opt/slurm/etc/windsock/prolog ]
    # before ParallelCluster's own, since names run in reverse order
    [ "$(cd root/opt/slurm/etc/scripts/prolog.d && printf '%s\n' * | sort -r | head -n 1)" = 95_windsock ]
    [ "$(readlink root/usr/local/bin/windsock)" = /opt/windsock/bin/windsock ]
    [ "$(ls -A root/opt)" = $'slurm\nwindsock' ]
    echo mine >root/opt/slurm/etc/windsock/windsock.conf
    install_on "file://$PWD/a.tar.gz" "$SUM"
    [ "$(cat root/opt/slurm/etc/windsock/windsock.conf)" = mine ]
    node ComputeFleet
    mkdir post-install # where archive and script lie together, its address has the script's name
    mv a.tar.gz post-install
    run -0 install_on "file://$PWD/post-install/a.tar.gz" "$SUM"
    run -0 install_on s3://BUCKET/post-install "file://$PWD/post-install/a.tar.gz" "$SUM" # as old versions call it
    [ -x root/opt/windsock/bin/windsock ] && [ ! -e root/opt/slurm/etc/windsock ]
    settings=$(from "$S/parallelcluster/cluster.yaml" 'd["Scheduling"]["SlurmSettings"]["CustomSlurmSettings"]')
    for hook in TaskProlog:taskprolog HealthCheckProgram:healthcheck; do
        [[ $settings == *"'${hook%:*}': '/opt/slurm/etc/windsock/${hook#*:}'"* ]]
    done
    # else the prolog of all nodes but the first runs when the job runs already
    [[ $settings == *"'PrologFlags': 'Alloc'"* ]]
}

@test "ParallelCluster: a wrong sum, archive, node or word leaves nothing behind" {
    archive
    node HeadNode
    run -1 install_on "file://$PWD/a.tar.gz" "${SUM//[0-9]/a}"
    [[ $output == *"is not the file with that SHA-256: $SUM"* ]]
    run -1 install_on "file://$PWD/a.tar.gz"
    run -1 install_on "ftp://x/y" "$SUM"
    echo "no archive" >none
    run -1 install_on "file://$PWD/none" "$(sha256sum <none | cut -d' ' -f1)" # tar's own code is 2
    [[ $output == *"file://$PWD/none is no .tar.gz"* ]]
    printf '#!/bin/sh\nexit 1\n' >w/windsock-1/bin/windsock
    tar -czf a.tar.gz -C w windsock-1
    SUM=$(sha256sum <a.tar.gz)
    run -1 install_on "file://$PWD/a.tar.gz" "${SUM%% *}"
    [[ $output == *"windsock does not start here"* ]]
    [ "$(ls -A root/opt)" = slurm ]
    [ ! -e root/usr ] && [ ! -e root/opt/slurm/etc/windsock ]
    rm root/etc/parallelcluster/cfnconfig
    run -1 install_on "file://$PWD/a.tar.gz" "${SUM%% *}"
    [[ $output == *"no node of AWS ParallelCluster"* ]]
}

@test "ParallelCluster: an archive behind a redirect is had, but not by plain http" {
    command -v openssl >/dev/null || skip "no openssl here"
    archive
    openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost \
        -keyout key.pem -out cert.pem 2>/dev/null
    cat >serve.py <<'P'
import http.server, os, ssl
class H(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        to = {"/r": "/a.tar.gz", "/plain": "http://localhost:1/a.tar.gz"}.get(self.path)
        if not to:
            return super().do_GET()
        self.send_response(302)
        self.send_header("Location", to)
        self.end_headers()
s = http.server.ThreadingHTTPServer(("localhost", 0), H)
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain("cert.pem", "key.pem")
s.socket = c.wrap_socket(s.socket, server_side=True)
open("port.new", "w").write(str(s.server_address[1]))
os.rename("port.new", "port")
s.serve_forever()
P
    timeout 120 python3 serve.py 2>said 3>&- &
    server=$!
    wait_for 10 test -s port
    export CURL_CA_BUNDLE=$PWD/cert.pem no_proxy=localhost
    node ComputeFleet
    run -0 install_on "https://localhost:$(cat port)/r" "$SUM"
    [ -x root/opt/windsock/bin/windsock ]
    stand_in sleep :
    run -1 install_on "https://localhost:$(cat port)/plain" "$SUM"
    kill $server
    [[ $output == *"/plain could not be had"* ]]
    grep -qi 'protocol "http"' <<<"$output" # curl's words: it did not even try
}
