/* Which fixes a shell takes: only these may stand where one pastes. */
#include "lib/report/typed.h"
#include "probes/log/catalogue.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void commands_are_typed(void **state UNUSED)
{
	static const char *const lines[] = {
		"eval \"$(ifprobe --suggest)\"",
		"sudo reboot",
		"sudo mount -o remount,rw /dev/shm",
		"make && make install   # or put it beside windsock",
		"make clean; make MPI=1",
		"unset NCCL_IB_GID_INDEX",
		"export TMPDIR=/var/tmp",
		"/usr/sbin/sshd",
		"NCCL_DEBUG=INFO ... 2>&1 | ncclwhy",
		"NCCL_P2P_DISABLE=1 COMMAND   # does it run then? reset; reboot",
		"SLURM_OVERLAP=1 srun -N1 -n1 -w node1 portcheck --version",
		"for u in '*' root; do echo \"$u\"; done | sudo tee /etc/x",
		"kill 4711   # if it is left over from an earlier job",
		"ping -c 3 node1; portcheck node1:22   # from here",
		"echo 'one; reset'; ls",
		"sudo ip link set dev ens5 mtu 9001\nip link show dev ens5",
		"hosts=$(sed '/x/d' /etc/hosts) && printf '%s\\n' \"$hosts\" | sudo tee /etc/hosts",
		"jq '.a = 1' f.json >f.new && mv f.json.new f.json || rm -f f.new   # needs jq",
		"command -v ssh   # from here: is it installed?",
		"etcd --enable-v2 --listen-client-urls http://a:2379   # etcd 3.5 or older",
		"slurmd --conf-server HEAD:6817   # on a node",
		"ufw prepend allow from 10.0.0.1   # on node1, if ufw runs there",
		"usermod -s /bin/bash user",
		"dmidecode -t memory   # the others have 64 GiB",
		"date -u -s '@1'",
		"sshpass -e ssh node1 true",
		"tsh ssh node1 'ip -s link; tc -s qdisc'",
		"echo 'this or that, and the rest'",
		"grep -e \"out of memory\" LOG   # of the one and the other",
		"export PATH=/the/of/and:$PATH",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (!fix_is_typed(lines[i]) || strcmp(fix_mark(lines[i]), "->"))
			fail_msg("a command is told as words: %s", lines[i]);
}

static void words_are_not(void **state UNUSED)
{
	static const char *const lines[] = {
		"reset the GPUs or reboot; have the bridge looked at",
		"reboot",
		"smaller batches, or gradient accumulation",
		"allow all TCP from 10.0.0.0/24 on node1",
		"make NCCL_NET, NCCL_IB_HCA and the plug-in the same on all nodes",
		"make every rank take the same path",
		"mount it on every host",
		"find the first rank that failed and cure that",
		"kubectl cordon NODE; reset or replace the GPU; kubectl delete pod POD",
		"ncclwhy the log that kubectl prints",
		"kubectl annotate: sidecar.istio.io/inject: \"false\"",
		"init_process_group(timeout=timedelta(hours=2))",
		"LimitMEMLOCK=infinity   # in the unit of slurmd",
		"Kubernetes: hostNetwork: true",
		"export PATH and LD_LIBRARY_PATH in ~/.bashrc of every host, before the line that",
		"mpirun of the very installation that the program was linked with",
		"sbatch --exclude=NODE ... where it comes again",
		"sbatch --mem=... or docker run --memory=...",
		"sbatch --requeue ..., and start from the last checkpoint",
		"srun --container-image=... or apptainer",
		"command it from rank 0",
		"'a b; c' d",
		"date and time of all hosts",
		"# open all ports",
		"",
		"   ",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (fix_is_typed(lines[i]) || strcmp(fix_mark(lines[i]), " -"))
			fail_msg("words stand where one pastes: %s", lines[i]);
}

/* Both lists are searched by halves: each of their names must be found. Our own cause no surprise.
 */
static void our_commands_are_known(void **state UNUSED)
{
	static const char *const ours[] = {"ddpsmoke",	"ifprobe",  "ncclbench", "ncclwhy",
					   "portcheck", "windsock", "xpu-smi",	 ".",
					   "cat",	"watch"};

	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (!fix_is_typed(ours[i]))
			fail_msg("%s is not known", ours[i]);
}

static void what_two_checks_say_is_one_command(void **state UNUSED)
{
	assert_true(fix_is_same("nft add x", "node1", "sudo nft add x   # on node1", "node0"));
	assert_true(fix_is_same("ls   # here", "n", "ls", "n"));
	assert_true(fix_is_same("ls   # on n, if it is there", "m", "ls   # on n: look", "m"));
	assert_false(fix_is_same("ls", "node1", "ls", "node10"));
	assert_false(fix_is_same("ls   # on node1", "m", "ls   # on node2", "m"));
	assert_false(fix_is_same("ls a", "m", "ls ab", "m"));
	assert_false(fix_is_same("echo '# on n'", "m", "echo", "n"));
	assert_false(fix_is_same("ls   # here\nrm a", "n", "ls   # here\nrm b", "n"));
	assert_true(fix_is_same("ls   # here\nrm a", "n", "ls   # here\nrm a", "n"));
}

/* A shell's grammar is the judge of all that the catalogue of failures has us print. */
static void a_shell_takes_what_is_typed(void **state UNUSED)
{
	size_t typed = 0, words = 0;
	FILE *sh = popen("bash -n", "w");

	assert_non_null(sh);
	for (size_t i = 0; i < signature_count; i++) {
		const char *line = signatures[i].fix;

		while (line && *line) {
			size_t n = strcspn(line, "\n");
			char one[1024];

			assert_true(n < sizeof(one));
			snprintf(one, sizeof(one), "%.*s", (int)n, line);
			if (fix_is_typed(one)) {
				fprintf(sh, "%s\n", one);
				typed++;
			} else {
				words++;
			}
			line += n + (line[n] == '\n');
		}
	}
	assert_int_equal(pclose(sh), 0);
	assert_true(typed > 100 && words > 100); /* neither of the two is all */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_are_typed),
		cmocka_unit_test(words_are_not),
		cmocka_unit_test(our_commands_are_known),
		cmocka_unit_test(what_two_checks_say_is_one_command),
		cmocka_unit_test(a_shell_takes_what_is_typed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
