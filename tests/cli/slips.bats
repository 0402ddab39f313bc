#!/usr/bin/env bats
# The typing errors that people make: the one line that they read has to be the mending one.
bats_require_minimum_version 1.5.0

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    PATH=$BIN:$PATH
}

# Lines "COMMAND LINE|what its only line on stderr ends with"
wrong() {
    local args hint
    while IFS='|' read -r args hint; do
        # shellcheck disable=SC2086 # several words
        run -2 --separate-stderr $args
        [[ -z $output && ${#stderr_lines[@]} = 1 && $stderr == *"$hint" ]] || { echo "$args: $stderr"; return 1; }
    done
}

@test "an option by another name, with one dash, in capitals, by its first letter" {
    wrong <<'A'
windsock -help|did you mean --help?
ncclbench -help|did you mean --help?
ncclbench -np 2|did you mean --np?
ifprobe --SUGGEST|did you mean --suggest?
ifprobe -H|did you mean --hosts or --help?
ncclbench -q|did you mean --quiet?
ncclwhy -f x|did you mean --follow or --format?
windsock --hostfile x|did you mean --hosts?
windsock --html|did you mean --report?
portcheck --timeout 3 x|did you mean --deadline?
ncclbench --csv|did you mean --output_file?
ncclbench --JSON|did you mean --json?
ncclbench --junit|did you mean --format=junit?
ncclbench --iterations 5|did you mean --iters?
ddpsmoke --batch-size 3|did you mean --batch?
ddpsmoke --nproc_per_node 2|did you mean --np-per-host?
ddpsmoke --fsdp|did you mean --pattern=fsdp?
ddpsmoke --gpu|did you mean --device=cuda?
A
}

@test "what ssh, srun, pdsh and iperf3 call it" {
    wrong <<'A'
windsock -i key.pem --hosts a|did you mean --rsh 'ssh -i KEY'?
windsock -l ubuntu --hosts a|did you mean --rsh 'ssh -l USER'?
windsock --rsh ssh -i key.pem --hosts a|unknown option '-i'; quote --rsh whole: --rsh 'ssh -i KEY'
portcheck --hosts a --rsh ssh -p 2222|unknown option '-p'; quote --rsh whole: --rsh 'ssh -p PORT'
ddpsmoke --hosts a --rsh=ssh -o x=y|unknown option '-o'; quote --rsh whole: --rsh 'ssh -o NAME=VALUE'
windsock --identity key.pem|did you mean --rsh?
windsock --user ubuntu|did you mean --rsh?
windsock --ssh 'x'|did you mean --rsh?
windsock -w n1,n2|did you mean --wait, --wait-time or --hosts?
windsock -N 2|did you mean --nodes or --hosts?
ifprobe -i eth0|did you mean --ip or --rsh?
portcheck -s|did you mean --serve?
portcheck --server|did you mean --serve?
portcheck --listen|did you mean --serve?
ncclwhy -w n1|did you mean --hosts?
A
}

@test "what belongs to the option beside a switch: a file to --json, a number of machines to --serve" {
    wrong <<'A'
ncclbench --json=run.json|--json takes no value, but got 'run.json'; did you mean --json --output run.json?
windsock --json=f|did you mean --json --output f?
ifprobe --json x.json|unexpected operand 'x.json'; did you mean --json --output x.json?
windsock --json ./x|did you mean --json --output ./x?
portcheck --json x.json|did you mean --json --output x.json?
ncclbench --json run|did you mean --run_cycles?
ncclwhy --json x.json|cannot read x.json: No such file or directory
windsock --json diff a.json b.json|cannot read a.json: No such file or directory
ncclbench --serve 2|unexpected operand '2'; did you mean --serve --wait 2?
ncclbench --serve=2|--serve takes no value, but got '2'; did you mean --serve --wait 2?
ddpsmoke --serve 3|did you mean --serve --wait 3?
windsock --serve 2|did you mean --serve --wait 2?
portcheck --serve 2|did you mean --serve --wait 2?
ncclbench --no-serve=2|see ncclbench --help
ncclbench --serve=node1|see ncclbench --help
ifprobe --quiet=1|see ifprobe --help
A
}

@test "a subnet is no list of hosts" {
    wrong <<'A'
windsock --hosts 10.0.0.0/28|'10.0.0.0/28' is a subnet, and its hosts are to be named; a list, as in '10.0.0.[1-14]', or a hostfile
ncclbench --hosts 10.0.0.17/28|as in '10.0.0.[17-30]', or a hostfile
ifprobe --suggest --hosts 10.1.0.0/16|as in '10.1.0.[1-4]', or a hostfile
portcheck --hosts fd00::/64|as in 'fd00::[1-4]', or a hostfile
windsock --hosts 10.0.0.4/31|as in '10.0.0.[4-5]', or a hostfile
windsock --hosts 10.0.0.4/32|as in '10.0.0.4', or a hostfile
windsock --hosts fe80::1%lo/64|as in 'fe80::1%lo', or a hostfile
windsock --hosts 10.0.0.0/33|hosts are a list (a,b or node[1-4]) or a hostfile's path
portcheck 10.0.0.0/30|a subnet is no host; --hosts '10.0.0.[1-2]' asks each pair of those in it; from here each is a word of its own
A
    mkdir 10.0.0.0
    echo localhost >10.0.0.0/28 # a file of that name is one
    run -0 windsock on 10.0.0.0/28 true
}

@test "a value in other words, behind '=', or none" {
    wrong <<'A'
ncclbench --backend NCCL|did you mean nccl?
ncclbench --coll alltoall_perf|did you mean alltoall?
ncclbench -o mean|did you mean avg?
ncclbench -b=8|did you mean -b 8?
ncclbench -J=x|did you mean -J x?
ncclbench --expect 2GBps|write --expect 2 for 2 GB/s, or --expect 60%
ncclbench --coll reduce_scatter,all_gather|did you mean reduce_scatter? It takes one; ask for the next one after it
ncclbench --report run.pdf|--report: run.pdf: the page is HTML, name it FILE.html
windsock --report run.JSON|--report: run.JSON: the page is HTML, name it FILE.html
ncclbench --plot run.html|--plot: run.html: the picture is an SVG, name it FILE.svg
ddpsmoke --plot loss.png|--plot: loss.png: the picture is an SVG, name it FILE.svg
ddpsmoke --expect 0.9|--expect is a percentage, from 1 to 100 (0: any); --expect 90
ddpsmoke --device cpu --backend nccl|--backend nccl is for GPUs, and --device cpu uses none; leave --backend nccl out, or --device cuda
ddpsmoke --device gpu|did you mean cuda?
ifprobe --write bashrc|did you mean --bashrc?
ifprobe --write NCCL.CONF|did you mean nccl.conf?
ddpsmoke --emit|--emit LAUNCHER: print the command that starts one's own script on these ranks (torchrun, accelerate, srun)
windsock --budget 10seconds|--budget: '10seconds' is not a time (500ms, 10s, 2m, 1h), at most 365 d; see windsock --help
A
}

@test "a file that is not there: the one that is called almost so" {
    echo x >train.log
    mkdir dumps
    wrong <<'A'
ncclbench --analyze tran.log|cannot read tran.log: No such file or directory; did you mean train.log?
ncclbench --baseline ./train.lgo|No such file or directory; did you mean ./train.log?
ncclwhy train|No such file or directory; did you mean train.log?
ncclwhy dumsp/rank0|No such file or directory
ncclwhy other.txt|No such file or directory
A
}

@test "a word without its option: hosts, a port, a collective, a file" {
    wrong <<'A'
portcheck tcp://10.0.0.2:29500/|did you mean 10.0.0.2:29500?
portcheck ubuntu@10.0.0.2|did you mean 10.0.0.2?
portcheck join 10.0.0.1:29499 CODE|windsock join 10.0.0.1:29499 CODE
ifprobe --peer 10.0.0.2:22,29500|a port stands behind its host, HOST:29500; an address has dots
portcheck --port 29500 10.0.0.2|ports to ask stand behind their host: 10.0.0.2:29500
windsock diff monday.json|windsock diff monday.json today.json   # each from --json
windsock node1 node2|hosts are named so: windsock --hosts node1,node2
windsock ifprobe|ifprobe is a command of its own
windsock dif a b|did you mean diff?
windsock JOIN a b|did you mean join?
ncclbench allreduce|did you mean --coll=all_reduce?
windsock --quick --same=|--same: '' is no file or folder; an unset variable? leave the option out, or name one
ncclbench log.txt|a collective goes with --coll, hosts with --hosts, a saved output with --analyze
ddpsmoke train.py|how to start yours: --emit torchrun
ddpsmoke node1|; hosts go with --hosts; it trains a network of its own (--model); how to start yours: --emit torchrun
ifprobe eth0|alone it shows every interface; an address goes with --ip, another host with --peer or --hosts
portcheck localhost 22|ports stand behind their host: HOST:22
portcheck 29500,30000-30010|ports stand behind their host: HOST:29500,30000-30010
portcheck a,b|a list is asked by all of it: --hosts 'a,b'; from here each is a word of its own
portcheck 1.2.3|give the address, with its dots
A
}

@test "--hosts a, b: one word" {
    wrong <<'A'
windsock --hosts a, b|did you mean --hosts a,b?
windsock --hosts=a, b|did you mean --hosts a,b?
portcheck --hosts=a, b|did you mean --hosts a,b?
windsock --hosts a b c --quick|did you mean --hosts a,b,c?
ncclbench --hosts a ,b -b 8|did you mean --hosts a,b?
ddpsmoke --hosts a b|did you mean --hosts a,b?
ifprobe --suggest --hosts n[1-2], n4|did you mean --hosts 'n[1-2],n4'?
portcheck --hosts a, b|did you mean --hosts a,b?
portcheck --hosts a b|hosts are one word: --hosts a,b
ncclwhy --confirm --hosts a, b log|did you mean --hosts a,b?
A
    # a file behind it is a file, and a verb a verb
    printf 'nothing\n' >log
    run -0 ncclwhy --confirm --hosts lo.invalid --rsh false log
    run -2 --separate-stderr windsock --hosts x on x true
    [[ $stderr == *"--hosts"* && $stderr != *"takes one word"* ]]
    run -2 --separate-stderr windsock --hosts x diff a b
    [[ $stderr == *"diff goes without --hosts"* ]]
}

@test "the first lines of --help have the first line to type" {
    local c
    for c in ifprobe portcheck ncclbench ddpsmoke ncclwhy windsock; do
        "$c" --help | sed -n '/^Usage: /,/^$/p' | grep -q "^Begin: $c" || { echo "$c"; return 1; }
    done
}

@test "help and version need no dashes where nothing else is there" {
    local c
    for c in ifprobe portcheck ncclbench ddpsmoke ncclwhy windsock; do
        run -0 --separate-stderr "$c" help
        [ "$output" = "$("$c" --help)" ]
        run -0 --separate-stderr "$c" version
        [ "$output" = "$("$c" --version)" ]
    done
    run -2 --separate-stderr ncclwhy help version # two files
    [[ $stderr == *"cannot read help"* ]]
}

@test "--help: each remark stands beside its command at 80 columns, and lists of hosts are quoted" {
    local c
    for c in ifprobe portcheck ncclbench ddpsmoke ncclwhy windsock; do
        run -0 "$c" --help
        [[ $output != *$'\n  # '* ]] || { echo "$output"; return 1; }
        ! grep -E '^  [a-z].*[^'\'']node\[' <<<"$output"
    done
    run -0 ncclwhy --help
    [[ $output == *"1  a confident cause was found"* ]]
}

@test "campaign: a wrong word is named, and a partition may be named as for sbatch" {
    local campaign=$ROOT/scripts/slurm/campaign
    run -2 "$campaign" --dryrun
    [[ $output == "campaign: there is no option '--dryrun'"*"--dry-run"* ]]
    run -2 "$campaign" -p
    [[ $output == "campaign: -p needs a value"* ]]
    run -2 "$campaign" --partition=gpu --partition gpu -n many
    [[ $output == "campaign: -n: 'many' is no number"* ]]
}

@test "a table in a file that is called .json: said, and written" {
    run -0 --separate-stderr ncclbench -b 8 -e 8 -n 1 --output run.json
    [[ -z $output && $stderr == *"ncclbench: run.json gets text for people: --json makes it JSON"* ]]
    grep -q '^# Collective test' run.json
    run -0 --separate-stderr ncclbench -b 8 -e 8 -n 1 --json --output run.json
    [[ $stderr != *people* ]]
    jq -e '.command == "ncclbench"' run.json
}

@test "--expect 2GB/s is --expect 2" {
    run -1 ncclbench --np 2 -b 8 -e 8 -n 1 --expect 1000GB/s
    [[ $output == *"1000"* ]]
    run -2 ncclbench --expect 2GB
}

@test "ncclwhy: a command without its --, and one that cannot be started" {
    run -2 --separate-stderr ncclwhy sh train.py
    [[ $stderr == *"to run a command: ncclwhy -- sh ..."* ]]
    run -2 --separate-stderr ncclwhy a.log ""
    [[ $stderr == *"'' is no file; an unset variable? leave it out, or name a log" ]]
    run -127 --separate-stderr ncclwhy -- no-such-command-here
    [ "$stderr" = "ncclwhy: cannot start no-such-command-here: No such file or directory" ]
    run -127 --separate-stderr ncclwhy -- sh -c 'no-such-command-here'
    [[ $stderr == *"not found"* && $stderr != *NCCL_DEBUG* ]]
    # what a program says counts, whatever its code
    run -127 --separate-stderr ncclwhy -- sh -c 'echo "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"; exit 127'
    [[ $stderr == *memory* ]]
}
