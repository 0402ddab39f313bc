#!/usr/bin/env bats
# The commands where little is there or much is odd: as containers, batch systems, old kernels
# and hurried administrators make it. No crash, no hang, nothing left; the exit code is the one
# of a good environment, or 3 with a sentence where the environment takes away what is needed.
bats_require_minimum_version 1.5.0
load poor.sh

setup_file() { poor_setup_file; }
setup() { poor_setup; }
teardown() { poor_teardown; }

says() { grep -qF -- "$1" "$DIR/out" || { echo "not said: $1"; cat "$DIR/out"; false; }; }

@test "system calls that a container's filter does not know are done without" {
    local young=(deny={clone3,close_range,memfd_create,pidfd_open,faccessat2,statx}:ENOSYS)
    local strict=(deny={ptrace,process_vm_readv,perf_event_open,io_uring_setup,userfaultfd,syslog,unix}
        deny={sched_setaffinity,sched_getaffinity,setpriority,sendmmsg,recvmmsg,prctl}) # prctl makes them
    local call
    for call in close_range getrandom memfd_create pidfd_open inet6 inet6:EAFNOSUPPORT; do
        endures -- "$POOR" "deny=$call" --
    done
    endures -- "$POOR" "${young[@]}" --
    endures -- "$POOR" "${strict[@]}" --
}

@test "what a sandbox takes away is said, and is no fault of the cluster" {
    local error
    for error in EPERM EACCES EAFNOSUPPORT; do
        ONLY='ifprobe suggest predict port to' endures all=3 -- "$POOR" "deny=netlink:$error" --
        says AF_NETLINK
        ONLY='to bench smoke' endures all=3 -- "$POOR" "deny=inet:$error" --
        ONLY=to endures to=3 -- "$POOR" "deny=inet:$error" --
        says 'this host could not send it'
    done
    ONLY='to bench smoke' endures all=3 -- "$POOR" deny=epoll_create1 --
    ONLY='bench smoke' endures all=3 -- "$POOR" deny=bind --
}

@test "limits: files, memory, size of files, stack" {
    local row
    endures -- bash -c '"$@" | cat; exit "${PIPESTATUS[0]}"' bash "$POOR" limit=fsize:0 --
    for row in stack:131072 memlock:0 core:0 as:60000000 data:20000000; do
        endures -- "$POOR" "limit=$row" --
    done
    for row in nofile:16 nofile:8; do
        endures bench=3 smoke=3 -- "$POOR" "limit=$row" --
    done
    try bench "$POOR" limit=nofile:16 -- || true
    grep -q 'ulimit -n' "$DIR/err"
}

@test "limits: a file that may not grow is an error with a sentence, and the child's own is its own" {
    run -3 "$POOR" limit=fsize:100 -- "$BIN/ifprobe" --output "$BATS_TEST_TMPDIR/report"
    [[ $output == *'File too large'* ]]
    [ ! -e "$BATS_TEST_TMPDIR/report" ]
    # a wrapped command has the signal as it was
    run -153 "$POOR" limit=fsize:100 -- "$BIN/ncclwhy" -- sh -c "exec head -c 9999 /dev/zero >$BATS_TEST_TMPDIR/grown"
}

@test "limits: no process more: exit 3" {
    ((EUID == 0)) || skip "not root"
    [[ -x /usr/bin/setpriv ]] || skip "no setpriv"
    chmod 711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" # the log is read by that user
    local as=(setpriv --reuid 54321 --regid 54321 --clear-groups)
    "${as[@]}" test -x "$BIN/ifprobe" -a -r "$DIR/train.log" || skip "another user cannot come here"
    for name in wrap bench smoke; do
        ONLY=$name endures "$name=3" -- "${as[@]}" "$POOR" limit=nproc:1 --
        grep -q 'ulimit -u' "$DIR/err"
    done
    # how many there may be is known before the first of them is started
    run -3 "${as[@]}" "$POOR" limit=nproc:40 -- "$BIN/ncclbench" --np 30 -b 8 -e 8
    [[ $output == *'30 ranks on this machine need 68 processes and threads, and there are 40: enough for 16'* ]]
    [[ $output == *'--np 16, or ulimit -u 68, as root where it is refused'* ]]
    # a name that nobody could ask for is no name that does not resolve; /etc/hosts takes no process
    run -3 "${as[@]}" "$POOR" limit=nproc:1 -- "$BIN/portcheck" nosuchname.invalid:9
    [[ $output == *'not asked: could not be looked up: Resource temporarily unavailable'*'ulimit -u'* ]]
    run -3 "${as[@]}" "$POOR" limit=nproc:1 -- "$BIN/ifprobe" --suggest --peer nosuchname.invalid
    [[ $output == *'could not be looked up: Resource temporarily unavailable'* ]]
    run -3 env MASTER_ADDR=nosuchname.invalid "${as[@]}" "$POOR" limit=nproc:1 -- "$BIN/ifprobe" --check
    [[ $output == *'lint.torch.master_addr'*'Resource temporarily unavailable'* && $output != *'tee -a /etc/hosts'* ]]
    run -0 "${as[@]}" "$POOR" limit=nproc:1 -- "$BIN/portcheck" localhost:9
    run -3 "${as[@]}" "$POOR" limit=nproc:1 -- "$BIN/windsock" on a,b true
    [[ $output == *'was not asked: cannot start ssh: '*'ulimit -u'* ]]
    endures -- "${as[@]}" --inh-caps=-all --no-new-privs # no line in /etc/passwd
}

@test "standard streams closed in each combination" {
    local which
    for which in 0 2 02; do endures -- "$POOR" "close=$which" --; done
    for which in 1 01 12 012; do
        for name in ${names:?}; do
            code=0
            try "$name" "$POOR" "close=$which" -- || code=$?
            [[ $code == 3 || ($name == wrap && $code == 0) ]] || sick "$name" "$code" 3 "close=$which"
        done
    done
}

@test "signals that were ignored or blocked when it began" {
    endures -- "$POOR" ignore={CHLD,PIPE,HUP,XFSZ,USR1} --
    endures -- "$POOR" ignore={INT,TERM,ALRM} --
    endures -- "$POOR" block={CHLD,PIPE,HUP,XFSZ,USR1,INT,TERM,ALRM} --
    # the budget's own is heard all the same
    run -3 timeout -k 5 30 "$POOR" block=ALRM ignore=ALRM -- \
        "$BIN/ncclbench" -b 8 -e 8 -n 2 -N 0 --budget 300ms --heartbeat "${MARK}ms"
    [[ $output == *'the budget of 300 ms passed'* ]]
}

@test "what it is called, where it is, and what the machine is called" {
    local host
    endures -- "$POOR" argv0= --
    ONLY='bench smoke' endures -- "$POOR" argv0=/nowhere/smoke --
    endures -- "$POOR" dir=gone --
    endures -- "$POOR" junk=1000000 --
    alone -u true
    for host in 'a b%s\"<x>' $'kn\303\266\366' '(none)' $'-a\nb\e[31m' "a:b,c[1-3]\$(touch hit)" \
        "$(printf 'a%.0s' {1..64})"; do
        ONLY='ifprobe port bench smoke' endures -- "${IN[@]}" "$POOR" "host=$host" --
    done
}

@test "without environment, with an odd one" {
    local row
    endures -- env -i
    for row in '-u PATH -u HOME -u TMPDIR -u LANG' 'PATH= HOME= TMPDIR= TERM= LC_ALL= COLUMNS=' \
        'HOME=/nowhere TMPDIR=/nowhere LC_ALL=xx_YY.UTF-8 TZ=/nowhere COLUMNS=-5 LD_PRELOAD=/nowhere.so' \
        'TMPDIR=/etc/passwd LC_ALL=C COLUMNS=99999999999999999999 POSIXLY_CORRECT=1 MALLOC_PERTURB_=165'; do
        # shellcheck disable=SC2086
        endures -- env $row
    done
}

@test "a clock at 1970, before it, at 2100 and far off" {
    "${CC:-cc}" -shared -fPIC -o "$DIR/clock.so" "${ROOT:?}/tests/fake/libclock.c"
    local now=$EPOCHSECONDS at
    for at in 0 -100000 4102444800 1099511627776; do
        echo $((at - now)) >"$DIR/off"
        endures -- env LD_PRELOAD="$DIR/clock.so" WINDSOCK_FAKE_CLOCK="$DIR/off"
    done
}

@test "files of the system that are not there, or not readable" {
    local code
    for code in 'mount -t tmpfs none /proc' 'mount -t tmpfs none /sys' 'mount -t tmpfs none /dev' \
        'for what in /proc/sys /dev/shm /run; do mount -t tmpfs -o size=4k none $what; done' \
        "for what in /etc/hosts /etc/resolv.conf /etc/services /etc/passwd /etc/nsswitch.conf /proc/meminfo \
            /proc/cpuinfo /proc/stat; do [ ! -e \$what ] || mount --bind '$DIR/nothing' \$what; done" \
        'mount -o bind,ro / /; mount -o remount,bind,ro /' 'mount -t tmpfs none /etc'; do
        alone -m "$code"
        endures -- "${IN[@]}"
    done
    alone '-m --pid --fork' 'mount -t proc -o subset=pid,hidepid=2 proc /proc'
    endures -- "${IN[@]}"
}

@test "the first process of a container" {
    alone '--pid --fork --kill-child' true
    endures -- "${IN[@]:0:$((${#IN[@]} - 4))}"
}

@test "a root folder with the programs and their libraries alone" {
    alone -m true
    local root=$DIR/root file
    mkdir -p "$root$BIN" "$root$DIR"
    cp "$BIN"/* "$root$BIN/"
    cp "$DIR/train.log" "$root$DIR/"
    while read -r file; do
        install -D "$file" "$root$file"
    done < <(ldd "$BIN"/* | grep -oE '/[^ ]+\.so[^ ]*' | sort -u)
    [[ $EUID == 0 ]] || skip "not root"
    endures -- chroot "$root"
    ONLY=suite endures suite=1 -- chroot "$root" # no /dev/shm
    says '"limits.shm"'
    run -0 jq -r '[.findings[] | select(.check | startswith("stage.")) | select(.status == "skip")] | length' "$DIR/out"
    [ "$output" -eq 0 ]
}
