/*
 * The plug-ins mpi-openmpi.so and mpi-mpich.so: the blocking collectives of the
 * MPI that is installed, as its users' programs call them. Where a call does not
 * come back it is left (guard.h).
 */
#include "bench/plugin/blocking.h"
#include "bench/plugin/guard.h"
#include "bench/plugin/mpi/calls.h"

#include <dlfcn.h>

struct mpi_comm {
	struct blocking b;
	struct mpi_calls calls;
	struct guard *guard; /* the family's */
	bool initialized;

	/* a part's beginning */
	const struct mpi_comm *from;
	int colour;
};

static struct mpi_comm *mpi_of(const struct comm *c)
{
	return CONTAINER_OF(blocking_of(c), struct mpi_comm, b);
}

/* --- calls that come back ------------------------------------------------------------ */

typedef int guarded_fn(struct mpi_comm *m, const struct comm_request *q);
struct call {
	guarded_fn *fn;
	struct mpi_comm *m;
	const struct comm_request *q;
	int error; /* MPI's */
};

static void make_call(void *arg)
{
	struct call *c = arg;

	c->error = c->fn(c->m, c->q);
}

/* MPI's error code; MPI_ERR_LASTCODE when it was left. */
static int guard(guarded_fn *fn, struct mpi_comm *m, const struct comm_request *q)
{
	struct call c = {fn, m, q, MPI_ERR_LASTCODE};
	uint64_t bytes = q ? comm_bytes(q, m->b.comm.size) : 0;

	return guard_call(m->guard, bytes, make_call, &c) == GUARD_BACK ? c.error
									: MPI_ERR_LASTCODE;
}

static int explain(struct mpi_comm *m, const char *what, int error, struct err *e)
{
	char why[MPI_MAX_ERROR_STRING] = "no reason given";
	struct blocking *root = m->b.root;
	int n;

	if (!watch_explain(&root->watch, what, &root->failure)) {
		(void)MPI_Error_string(error, why, &n);
		why[strcspn(why, "\n")] = '\0';
		err_set(&root->failure, ERR_SYS, "%s failed: " MPI_FLAVOUR " says: %.300s", what,
			why);
	}
	return blocking_failed(root, e);
}

/* --- the communicator ------------------------------------------------------------------ */

static int run(struct mpi_comm *m, const struct comm_request *q) { return mpi_call(&m->calls, q); }

static int start(struct comm *c, const struct comm_request *q, struct err *e)
{
	struct mpi_comm *m = mpi_of(c);
	int error;

	if (m->b.root->failure.kind)
		return blocking_failed(&m->b, e);
	if (mpi_call_limit(q))
		return err_set(e, ERR_ABSENT, "%s of %zu elements: %s", coll_kind_name(q->kind),
			       q->count, mpi_call_limit(q));
	error = guard(run, m, q);
	return error ? explain(m, coll_kind_name(q->kind), error, e) : 0;
}

static int finalize(struct mpi_comm *m, const struct comm_request *q)
{
	(void)m;
	(void)q;
	return MPI_Finalize();
}

static int leave_part(struct mpi_comm *m, const struct comm_request *q)
{
	(void)q;
	return MPI_Comm_free(&m->calls.comm);
}

static void release(struct mpi_comm *m)
{
	bool well = !m->b.root->failure.kind;

	if (well && blocking_is_part(&m->b))
		(void)guard(leave_part, m, NULL);
	else if (well && m->initialized)
		(void)guard(finalize, m, NULL);
	blocking_done(&m->b);
	mpi_calls_done(&m->calls);
	free(m);
}

static void free_comm(struct comm *c) { release(mpi_of(c)); }

static int make_part(struct mpi_comm *m, const struct comm_request *q)
{
	(void)q;
	return mpi_calls_part(&m->from->calls, m->colour, m->b.comm.rank, &m->calls);
}

/* MPI splits for everybody, also who is in no part. */
static int split(struct comm *c, const struct comm_group *g, struct comm **ret, struct err *e)
{
	struct mpi_comm *from = mpi_of(c), *m = calloc(1, sizeof(*m));
	int error;

	if (!m)
		return err_sys(e, "cannot make a communicator");
	blocking_init_part(&m->b, &from->b, g);
	m->from = from;
	m->colour = g->size ? g->colour : MPI_UNDEFINED;
	m->guard = from->guard;
	error = guard(make_part, m, NULL);
	if (error)
		(void)explain(m, "MPI_Comm_split", error, e);
	if (!error && g->size) {
		*ret = &m->b.comm;
		return 0;
	}
	mpi_calls_done(&m->calls);
	free(m);
	return error ? -1 : 0;
}

static const struct comm_impl impl = {
	.caps = {.backend = "mpi",
		 .kinds = (1u << COLL_KINDS) - 1,
		 .types = DT_COMMON,
		 .ops = OP_COMMON,
		 .memory = COMM_HOST,
		 .in_place_exchange = true},
	BLOCKING_IMPL, /* whom it waits for MPI does not say: the rendezvous knows who is lost */
	.start = start,
	.free = free_comm,
	.split = split,
};

/* --- its life ----------------------------------------------------------------------------- */

/* "Open MPI v4.1.4", "MPICH 4.0.2" */
static void version(char *ret, size_t n)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
	const char *at = text;
	int len;

	(void)MPI_Get_library_version(text, &len);
	if (starts_with(text, "MPICH Version:"))
		at = text + strlen("MPICH Version:");
	at += strspn(at, " \t");
	(void)snprintf(ret, n, "%s%.*s", at == text ? "" : "MPICH ", (int)strcspn(at, ",\n"), at);
}

#ifdef MPICH_VERSION
/*
 * Its library has two names for one ABI: its own build's, which is Intel MPI's, too, and
 * Debian's. So nothing is linked: the first that the loader finds is shown to our symbols,
 * which are bound when they are called.
 */
static int find_library(struct err *e)
{
	static const char *const names[] = {"libmpi.so.12", "libmpich.so.12"};
	static void *so;

	for (size_t i = 0; i < ARRAY_LEN(names) && !so; i++)
		so = dlopen(names[i], RTLD_LAZY | RTLD_GLOBAL);
	if (so)
		return 0;
	err_set(e, ERR_ABSENT, "cannot load MPICH: neither %s nor %s is where the loader looks",
		names[0], names[1]);
	return err_hint(e, "apt-get install libmpich12, or LD_LIBRARY_PATH=ITS_FOLDER/lib");
}
#else
/* It is linked; its own plug-ins look for its symbols where everybody sees them. */
static int find_library(struct err *e)
{
	Dl_info where;

	(void)e;
	if (dladdr((void *)(uintptr_t)MPI_Init_thread, &where) && where.dli_fname)
		(void)dlopen(where.dli_fname, RTLD_LAZY | RTLD_GLOBAL | RTLD_NOLOAD);
	return 0;
}
#endif

static int initialize(struct mpi_comm *m, const struct comm_request *q)
{
	int level, error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);

	(void)q;
	m->initialized = !error;
	return error;
}

static int order_ranks(struct mpi_comm *m, const struct comm_request *q)
{
	(void)q;
	(void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	return mpi_calls_init(&m->calls, MPI_COMM_WORLD, m->b.comm.rank);
}

static int check_size(struct mpi_comm *m, struct err *e)
{
	int size = 0;

	(void)MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size == m->b.comm.size)
		return 0;
	err_set(e, ERR_SYS, MPI_FLAVOUR " sees %d of %d ranks", size, m->b.comm.size);
	return err_hint(e,
			"its ranks have to be started by its own mpirun: mpirun -np %d ncclbench "
			"--backend mpi ...",
			m->b.comm.size);
}

static int connect_all(struct mpi_comm *m, const struct comm_world *w, struct err *e)
{
	static struct guard calls;
	int error;

	m->guard = &calls;
	if (guard_start(m->guard, &m->b.watch, w, "MPI", e))
		return -1;
	error = guard(initialize, m, NULL);
	if (error)
		return explain(m, "MPI_Init", error, e);
	if (check_size(m, e))
		return -1;
	error = guard(order_ranks, m, NULL);
	return error ? explain(m, "MPI_Comm_split", error, e) : 0;
}

static struct comm *mpi_new(const struct comm_world *w, struct dev *d, int *ret_culprit,
			    struct err *e)
{
	struct card own = card_of(w);
	struct mpi_comm *m;

	(void)d;
	*ret_culprit = -1;
	if (find_library(e))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m) {
		err_sys(e, "cannot make a communicator");
		return NULL;
	}
	blocking_init(&m->b, &impl, w);
	version(own.version, sizeof(own.version));
	(void)snprintf(m->b.transport, sizeof(m->b.transport),
		       "%s, by what it chooses (averages: sums, divided here)", own.version);
	if (!cards_exchange(&m->b.cards, w, &own, "MPI", ret_culprit, e) && !connect_all(m, w, e))
		return &m->b.comm;
	m->b.failure.kind = ERR_SYS; /* the others are not coming to MPI_Finalize */
	release(m);
	return NULL;
}

static int probe(const struct comm_world *w UNUSED, char *ret, size_t n, struct err *e)
{
	if (find_library(e))
		return -1;
	version(ret, n);
	return 0;
}

BLOCKING_PLUGIN("mpi", probe, mpi_new);
