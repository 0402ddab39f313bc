/* What a pickle names and would call. Nothing is called. */
#include "lib/flight/pickle_machine.h"

static bool line(struct machine *m, const unsigned char **ret, size_t *ret_n)
{
	const unsigned char *nl = memchr(m->at, '\n', (size_t)(m->end - m->at));

	if (!nl) {
		m->is_cut = true;
		return machine_wrong(m, "it is cut short");
	}
	*ret = m->at;
	*ret_n = (size_t)(nl - m->at);
	m->at = nl + 1;
	return true;
}

static bool push_name(struct machine *m, const void *s, size_t n)
{
	struct value v = {.kind = VALUE_NAME, .n = (uint32_t)n, .s = s};

	return n < UINT32_MAX ? machine_push(m, v) : machine_wrong(m, "a name is too long");
}

bool op_global(struct machine *m)
{
	const unsigned char *module, *name = NULL;
	size_t nmodule, nname = 0;

	return line(m, &module, &nmodule) && line(m, &name, &nname) && push_name(m, name, nname);
}

bool op_stack_global(struct machine *m)
{
	struct value module, name;

	if (!machine_pop(m, &name) || !machine_pop(m, &module))
		return false;
	if (name.kind != VALUE_TEXT || module.kind != VALUE_TEXT)
		return machine_wrong(m, "a name is no text");
	return push_name(m, name.s, name.n);
}

static bool is_named(const struct value *v, const char *name)
{
	return v->kind == VALUE_NAME && v->n == strlen(name) && memcmp(v->s, name, v->n) == 0;
}

/* PyTorch's Pickler says so what kind of list or dict its argument is. */
static bool is_wrapper(const struct value *f)
{
	static const char *const names[] = {"restore_type_tag", "build_intlist", "build_doublelist",
					    "build_boollist", "build_tensorlist"};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_named(f, names[i]))
			return true;
	return false;
}

bool op_reduce(struct machine *m)
{
	struct value args, f, other = {.kind = VALUE_OTHER};

	if (!machine_pop(m, &args) || !machine_pop(m, &f))
		return false;
	if (is_wrapper(&f) && args.kind == VALUE_LIST && args.seq->n)
		return machine_push(m, args.seq->v[0]);
	if (is_named(&f, "OrderedDict") || is_named(&f, "defaultdict") || is_named(&f, "dict"))
		return machine_gather(m, 0, VALUE_DICT);
	return machine_push(m, other);
}

bool op_newobj(struct machine *m)
{
	struct value drop;

	return machine_pop(m, &drop) && machine_pop(m, &drop) &&
	       machine_push(m, (struct value){.kind = VALUE_OTHER});
}

bool op_newobj_ex(struct machine *m)
{
	struct value drop;

	return machine_pop(m, &drop) && op_newobj(m);
}

/* What is opaque but for its attributes is a dict of these. */
bool op_build(struct machine *m)
{
	struct value state;

	if (!machine_pop(m, &state))
		return false;
	if (!machine_depth(m))
		return machine_wrong(m, "it builds on nothing");
	if (m->stack[m->n - 1].kind == VALUE_OTHER && state.kind == VALUE_DICT)
		m->stack[m->n - 1] = state;
	return true;
}
