/* The command line that starts an agent; nothing on it is secret. */
#include "lib/cluster/launch_agents.h"

#include "lib/cluster/carry.h"
#include "lib/core/file.h"
#include "lib/core/quote.h"

/*
 * Our own file first: on a shared file system that is the same version. A folder on
 * the PATH that may not be read would turn "not found" into "permission denied".
 */
static const char there[] = "if [ -x %s ]; then exec %s --agent; fi; "
			    "if command -v %s >/dev/null; then exec %s --agent; fi; "
			    "[ ! -f %s ] || exec %s --agent; exit 127"; /* it says why it cannot */

static const char *name_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static const char *script(const struct launch *L)
{
	struct arena *a = L->a;
	const char *own = agent_own_path(a), *quoted = shell_quote(a, own), *name;

	if (L->o.copy_self)
		return copy_script(L, own, name_of(own));
	name = shell_quote(a, name_of(own));
	return arena_printf(a, "%s%s", carry_look(a, name, "--agent"),
			    arena_printf(a, there, quoted, quoted, name, name, quoted, quoted));
}

/* Whatever shell the account has, sh reads it. */
static const char *remote_command(const struct launch *L)
{
	return arena_printf(L->a, "exec sh -c %s", shell_quote(L->a, script(L)));
}

static bool is_here(struct arena *a, const char *program)
{
	return strchr(program, '/') ? !access(program, X_OK) : file_on_path(a, program) != NULL;
}

static int add_rsh(struct launch *L, const char *host, str_list *argv, struct err *e)
{
	if (rsh_words(L->o.rsh, L->o.deadline_ns, L->a, argv, &L->rsh, e))
		return -1;
	if (!is_here(L->a, L->rsh.name)) {
		err_set(e, ERR_SYS, "cannot start %s: there is no such program here", L->rsh.name);
		return err_hint(e, rsh_is_ssh(L->rsh.name) ? "install openssh-client, or name "
							     "another command with --rsh"
							   : "check the spelling of --rsh");
	}
	*LIST_ADD(L->a, argv) = host;
	*LIST_ADD(L->a, argv) = remote_command(L);
	return 0;
}

static int add_srun(struct launch *L, const char *host, str_list *argv, struct err *e)
{
	/* --overlap by its variable: before 20.11 there was no such word, and steps shared */
	static const char *const srun[] = {
		"env",	      "SLURM_OVERLAP=1",      "srun", "-Q", "-N1", "-n1",
		"--mpi=none", "--kill-on-bad-exit=0", "-w"};

	if (!is_here(L->a, "srun")) {
		err_set(e, ERR_SYS,
			"this is an allocation of Slurm's, and there is no srun on the PATH");
		return err_hint(e, "add Slurm's programs to PATH, or name the hosts for ssh: "
				   "--hosts \"$SLURM_JOB_NODELIST\"");
	}
	for (size_t i = 0; i < ARRAY_LEN(srun); i++)
		*LIST_ADD(L->a, argv) = srun[i];
	*LIST_ADD(L->a, argv) = host;
	*LIST_ADD(L->a, argv) = "sh";
	*LIST_ADD(L->a, argv) = "-c";
	*LIST_ADD(L->a, argv) = script(L);
	return 0;
}

int agent_argv(struct launch *L, struct agent_host *h, int in, char *const **ret, struct err *e)
{
	str_list argv = {0};

	if (L->o.copy_self && !h->local && copy_prepare(L, e) < 0)
		return -1;
	/* child_start() gives its children nothing on stdin: `--agent FD` takes the pipe for it,
	 * and `--agent FD SSH...` becomes ssh */
	*LIST_ADD(L->a, &argv) = agent_own_path(L->a);
	*LIST_ADD(L->a, &argv) = "--agent";
	*LIST_ADD(L->a, &argv) = arena_printf(L->a, "%d", in);
	if (!h->local &&
	    (L->o.srun ? add_srun(L, h->h->name, &argv, e) : add_rsh(L, h->h->name, &argv, e)) < 0)
		return -1;
	*LIST_ADD(L->a, &argv) = NULL;
	*ret = (char *const *)(void *)argv.v;
	return 0;
}
