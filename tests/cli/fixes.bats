#!/usr/bin/env bats
# A fix says itself whether it is a command or words: the lint of the source that nobody forgets it.
bats_require_minimum_version 1.5.0

commands() { # what a shell takes
    cat <<'END'
eval "$(ifprobe --suggest)"
sudo reboot
sudo mount -o remount,rw /dev/shm
make && make install   # or put it beside windsock
make clean; make MPI=1
unset NCCL_IB_GID_INDEX
export TMPDIR=/var/tmp
/usr/sbin/sshd
NCCL_DEBUG=INFO ... 2>&1 | ncclwhy
NCCL_P2P_DISABLE=1 COMMAND   # does it run then? reset; reboot
SLURM_OVERLAP=1 srun -N1 -n1 -w node1 portcheck --version
for u in '*' root; do echo "$u"; done | sudo tee /etc/x
kill 4711   # if it is left over from an earlier job
ping -c 3 node1; portcheck node1:22   # from here
echo 'one; reset'; ls
sudo ip link set dev ens5 mtu 9001
hosts=$(sed '/x/d' /etc/hosts) && printf '%s
jq '.a = 1' f.json >f.new && mv f.json.new f.json || rm -f f.new   # needs jq
command -v ssh   # from here: is it installed?
etcd --enable-v2 --listen-client-urls http://a:2379   # etcd 3.5 or older
slurmd --conf-server HEAD:6817   # on a node
ufw prepend allow from 10.0.0.1   # on node1, if ufw runs there
usermod -s /bin/bash user
dmidecode -t memory   # the others have 64 GiB
date -u -s '@1'
sshpass -e ssh node1 true
tsh ssh node1 'ip -s link; tc -s qdisc'
echo 'this or that, and the rest'
grep -e "out of memory" LOG   # of the one and the other
export PATH=/the/of/and:$PATH
END
}

words() { # what must not stand where one pastes
    cat <<'END'
reset the GPUs or reboot; have the bridge looked at
reboot
smaller batches, or gradient accumulation
allow all TCP from 10.0.0.0/24 on node1
make NCCL_NET, NCCL_IB_HCA and the plug-in the same on all nodes
make every rank take the same path
mount it on every host
find the first rank that failed and cure that
kubectl cordon NODE; reset or replace the GPU; kubectl delete pod POD
ncclwhy the log that kubectl prints
kubectl annotate: sidecar.istio.io/inject: "false"
init_process_group(timeout=timedelta(hours=2))
LimitMEMLOCK=infinity   # in the unit of slurmd
Kubernetes: hostNetwork: true
export PATH and LD_LIBRARY_PATH in ~/.bashrc of every host, before the line that
mpirun of the very installation that the program was linked with
sbatch --exclude=NODE ... where it comes again
sbatch --mem=... or docker run --memory=...
sbatch --requeue ..., and start from the last checkpoint
srun --container-image=... or apptainer
command it from rank 0
'a b; c' d
date and time of all hosts
END
}

# Each line of it by itself: one that is let through hides no other.
each_is_refused() { # FILE SAYING
    local line
    while IFS= read -r line; do
        printf '%s\n' "$line" >one.txt
        echo "--- $line"
        run -1 "$ROOT/scripts/check-fixes" "$PWD/one.txt"
        [[ $output == *"$2"* ]]
    done <"$1"
}

setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "check-fixes: commands as they are typed, and words that are marked, are well" {
    { commands && words | sed 's/^/- /'; } >all.txt
    run -0 "$ROOT/scripts/check-fixes" "$PWD/all.txt"
    [ -z "$output" ]
}

@test "check-fixes: words without the mark are named" {
    words >words.txt
    each_is_refused words.txt "not marked as words"
}

@test "check-fixes: a command with the mark of words is named" {
    commands | sed 's/^/- /' >commands.txt
    each_is_refused commands.txt "marked as words"
}

@test "check-fixes: a word that zsh takes for the path of a program is named, and quoted it is well" {
    cat >zsh.txt <<'END'
export NCCL_SOCKET_IFNAME==eth0
export NCCL_SOCKET_IFNAME=={good}   # on every host
export GLOO_SOCKET_IFNAME=eth0 NCCL_SOCKET_IFNAME==%s
NCCL_IB_HCA==mlx5_0 COMMAND
unset NCCL_IB_HCA; export NCCL_SOCKET_IFNAME==eth0
ifprobe =eth0
END
    each_is_refused zsh.txt "zsh"
    cat >quoted.txt <<'END'
export NCCL_SOCKET_IFNAME='=eth0'   # not: ==eth0
ifprobe "=eth0"
pip install x==1.0
jq '.a == 1' f.json
END
    run -0 "$ROOT/scripts/check-fixes" "$PWD/quoted.txt"
    [ -z "$output" ]
    printf '%s\n' 'finding_fix(f, "export NCCL_IB_HCA==%s", x);' 'SIG(A, "export NCCL_IB_HCA==DEV,DEV")' >a.c
    run -1 "$ROOT/scripts/check-fixes" "$PWD/a.c"
    [ "$(grep -c 'a\.c:[12]: zsh' <<<"$output")" -eq 2 ]
}

@test "check-fixes: a word in capitals is one that the reports know as a person's, or what a program calls so" {
    cat >asked.txt <<'END'
ssh THE-OTHER true
windsock --hosts "NOVEL"
ip link set {2|CARD} up   # of HOST
ls ALPHA-0 'x'
END
    each_is_refused asked.txt "for a person to fill in"
    cat >known.txt <<'END'
ssh HOST true   # of THE-OTHER
ls '/NOVEL FOLDER' $NOVEL ${NOVEL} /NOVEL/x; NOVEL=1 ls
echo "it's $HOME" 'NOVEL' # NOVEL
sudo iptables -A INPUT -j DROP
- name the NOVEL one
END
    run -0 "$ROOT/scripts/check-fixes" "$PWD/known.txt"
}

@test "check-fixes: it finds the fixes of the source: calls, tables, errors, functions that return them" {
    cat >a.c <<'END'
#define SHARED "look at the log"
const char *host_fix(int n)
{
	return n ? "reboot it" : arena_printf(a, "sudo reboot   # %s", "once more");
}
static void f(void)
{
	finding_fix(f, "smaller " "batches");
	finding_fix(f, "ls %s", strstr(x, "no fix") ? "of it" : "of all");
	finding_fix(f, good ? "ls" : "ask them");
	finding_fix(f, SHARED);
	finding_set(f, ST_FAIL, "this is no fix");
	t.fix = "take another one";
	h->h->fix = arena_printf(a, "the %s card", "left");
	(void)err_command(e, "see the manual");
	(void)err_command(e, "- see the manual");
	(void)err_hint(e, "see the manual");
	tell_line(c, &t->causes, "it is too old");
	tell_line(c, &t->fix, "send the shape first");
	log_hint("paste the line");
	log_hint("- paste the line");
}
END
    run -1 "$ROOT/scripts/check-fixes" "$PWD/a.c"
    [ "$(grep -c 'a\.c:' <<<"$output")" -eq 10 ]
    for line in 4 8 10 11 13 14 15 16 19 20; do
        [[ $output == *"a.c:$line: "* ]]
    done
}

@test "check-fixes: it reads all of them, and not a few" {
    run -0 "$ROOT/scripts/check-fixes" --count
    [[ $output =~ ^([0-9]+)\ commands,\ ([0-9]+)\ words$ ]]
    [ "${BASH_REMATCH[1]}" -gt 1000 ]
    [ "${BASH_REMATCH[2]}" -gt 500 ]
}

@test "check-fixes: an option that a command of ours has not is named, and what it starts has its own" {
    cat >options.txt <<'END'
portcheck --from HERE --to MASTER
ls; sudo /usr/bin/windsock --hosts ALL --nope=1   # then
NCCL_DEBUG=INFO COMMAND 2>&1 | ncclwhy --tail
- read the log   # ncclwhy --nope LOG
END
    each_is_refused options.txt "there is no "
    cat >well.txt <<'END'
portcheck --hosts ALL --json >a; portcheck MASTER:29500   # on the others
ncclwhy --save LOG -- torchrun --nproc-per-node=8 train.py
ssh ncclbench-host uname --all
make DESTDIR=/x/windsock install; python3 windsock.py --any
END
    run -0 "$ROOT/scripts/check-fixes" "$PWD/well.txt"
    [ -z "$output" ]
    printf '%s\n' 'SIG("A-001", ROOT, 80, "a", "b", "c", "d", "e", "portcheck --to MASTER\nls", "ls")' >a.c
    run -1 "$ROOT/scripts/check-fixes" "$PWD/a.c"
    [[ $output == *"a.c:1: there is no portcheck --to:"* ]]
}
