#include "probes/preflight/srun.h"

#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "probes/preflight/part.h"

const char *srun_rsh(struct arena *a)
{
	const char *self = self_path(a);

	if (!self || !part_find(a, "srun"))
		return NULL;
	return arena_printf(a, "%s --srun", shell_quote(a, self));
}

int srun_exec(char *const *words, int n, struct err *e)
{
	enum { WORDS = 2 };

	if (n != WORDS)
		return err_set(e, ERR_USAGE, "--srun is for our own use");
	(void)setenv("SLURM_OVERLAP", "1", 1); /* --overlap, which is no word before 20.11 */
	(void)execlp("srun", "srun", "-Q", "-N1", "-n1", "--mpi=none", "-w", words[0], "sh", "-c",
		     words[1], (char *)NULL);
	return err_sys(e, "cannot start srun");
}
