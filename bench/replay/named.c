#include "bench/replay/named.h"

/* The first that a name begins with, without its underscores. */
static const struct {
	const char *begins, *as, *coll; /* as NULL: it cannot be done again */
} ops[] = {
	{"allreducesparse", NULL, NULL},
	{"allreducebarrier", "barrier", "all_reduce"},
	{"barrier", "barrier", "all_reduce"},
	{"allreduce", "all_reduce", "all_reduce"},
	{"allgather", "all_gather", "all_gather"},
	{"reducescatter", "reduce_scatter", "reduce_scatter"},
	{"alltoall", "alltoall", "alltoall"},
	{"broadcast", "broadcast", "broadcast"},
	{"gather", "gather", "gather"},
	{"scatter", "scatter", "scatter"},
	{"reduce", "reduce", "reduce"},
};

static const struct {
	const char *name;
	enum dtype type;
	size_t each;
} types[] = {
	{"Float", DT_FLOAT, 1},
	{"BFloat16", DT_BFLOAT16, 1},
	{"Half", DT_HALF, 1},
	{"Double", DT_DOUBLE, 1},
	{"Long", DT_INT64, 1},
	{"Int", DT_INT32, 1},
	{"Byte", DT_UINT8, 1},
	{"Char", DT_INT8, 1},
	{"Bool", DT_UINT8, 1},
	{"Float8_e4m3fn", DT_F8E4M3, 1},
	{"Float8_e5m2", DT_F8E5M2, 1},
	{"ComplexFloat", DT_FLOAT, 2},
	{"ComplexDouble", DT_DOUBLE, 2},
	{"Short", DT_UINT8, 2},
	{"UInt16", DT_UINT8, 2},
	{"UInt32", DT_UINT32, 1},
	{"UInt64", DT_UINT64, 1},
};

bool named_op(const char *op, struct named_op *ret)
{
	char plain[32];
	size_t n = 0;

	for (; *op && n < sizeof(plain) - 1; op++)
		if (*op != '_')
			plain[n++] = *op;
	plain[n] = '\0';
	for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
		if (!starts_with(plain, ops[i].begins))
			continue;
		*ret = (struct named_op){ops[i].as, ops[i].as ? coll_find(ops[i].coll) : NULL};
		return ret->coll;
	}
	return false;
}

bool named_type(const char *type, enum dtype *ret, size_t *ret_each)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (streq(type, types[i].name)) {
			*ret = types[i].type;
			*ret_each = types[i].each;
			return true;
		}
	return false;
}

size_t named_count(const struct named_op *op, size_t in, size_t out, size_t ranks, bool *ret_uneven)
{
	size_t whole = in > out ? in : out, parts = (whole + ranks - 1) / ranks;

	*ret_uneven = false;
	switch (op->coll->kind) {
	case COLL_ALL_GATHER:
		*ret_uneven = in && out && in * ranks != out;
		return *ret_uneven ? parts : in ? in : parts;
	case COLL_REDUCE_SCATTER:
		*ret_uneven = in && out && out * ranks != in;
		return *ret_uneven ? parts : out ? out : parts;
	case COLL_ALLTOALL:
		*ret_uneven = in % ranks || (out && in != out);
		return parts;
	case COLL_GATHER:
		return in ? in : parts;
	case COLL_SCATTER:
		return out ? out : parts;
	default:
		return whole;
	}
}
