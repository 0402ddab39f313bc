#ifndef PROBES_LOG_HIDDEN_H
#define PROBES_LOG_HIDDEN_H
/*
 * A file of one's own that has the name of a module of Python's: profile.py beside the program is
 * found before Python's own.
 */

/* Modules whose names people give to files of a training; of those that came with a later Python
 * no name is lacking here. */
#define PYTHONS_MODULES                                                                            \
	"(abc|argparse|ast|asyncio|base64|bisect|calendar|cmd|code|codecs|collections|"            \
	"concurrent|contextlib|copy|csv|ctypes|dataclasses|datetime|dis|email|enum|functools|"     \
	"glob|gzip|hashlib|heapq|html|http|importlib|inspect|json|keyword|linecache|locale|"       \
	"logging|math|multiprocessing|numbers|operator|pathlib|pdb|pickle|platform|profile|"       \
	"pstats|queue|random|re|resource|sched|secrets|select|selectors|shutil|signal|site|"       \
	"socket|ssl|stat|statistics|string|struct|subprocess|symbol|tarfile|tempfile|"             \
	"textwrap|threading|timeit|token|tokenize|trace|traceback|types|typing|unittest|urllib|"   \
	"uuid|warnings|weakref|xml|zipfile)"
/* Packages that are hidden as readily. */
#define KNOWN_PACKAGES                                                                             \
	"(accelerate|datasets|deepspeed|evaluate|horovod|mpi4py|numpy|pandas|peft|ray|"            \
	"tensorboard|tokenizers|torch|torchvision|tqdm|transformers|wandb|yaml)"

struct arena;
struct explanation;
struct why;

/* The traceback decides where a line alone could also be of versions that do not fit, or of a
 * module that is meant to be the program's own: evaluate.py, datasets.py. */
void hidden(struct why *w, struct arena *a, struct explanation *x);

#endif
