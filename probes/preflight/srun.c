#include "probes/preflight/srun.h"

#include "lib/core/quote.h"
#include "lib/core/self.h"
#include "lib/core/text.h"
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
	AUTO(arena_done) struct arena a = {0};
	struct text line;

	if (n < 2)
		return err_set(e, ERR_USAGE, "--srun is for our own use");
	text_init(&line, &a);
	for (int i = 1; i < n; i++)
		text_addf(&line, "%s%s", i > 1 ? " " : "", words[i]);
	(void)setenv("SLURM_OVERLAP", "1", 1); /* --overlap, which is no word before 20.11 */
	(void)execlp("srun", "srun", "-Q", "-N1", "-n1", "--mpi=none", "-w", words[0], "sh", "-c",
		     line.s, (char *)NULL);
	return err_sys(e, "cannot start srun");
}
