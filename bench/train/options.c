#include "bench/train/options.h"

/* In the order of options_take(): numbers, words (their list), or just said or not. */
static const struct option {
	const char *name;
	const char *const *words;
	bool is_flag, may_lack; /* 0: it was not said */
} options[OPTIONS_ALIKE] = {
	{"--model", model_names, false, false},
	{"--side", NULL, false, false},
	{"--epochs", NULL, false, true},
	{"--steps", NULL, false, true},
	{"--batch", NULL, false, false},
	{"--lr", NULL, false, false},
	{"--momentum", NULL, false, false},
	{"--weight-decay", NULL, false, false},
	{"--lr-every", NULL, false, false},
	{"--lr-gamma", NULL, false, false},
	{"--samples", NULL, false, true},
	{"--validation", NULL, false, true},
	{"--drop-last", NULL, true, true},
	{"--pattern", train_patterns, false, false},
	{"--amp", engine_precisions, false, false},
	{"--tf32", NULL, true, true},
	{"--checkpoint", NULL, true, true}, /* the folder may have another name elsewhere */
	{"--checkpoint-size", NULL, false, false},
};

static int model_number(const struct model *m)
{
	int i = 0;

	while (model_names[i] && !streq(model_names[i], m->name))
		i++;
	return i;
}

void options_take(const struct train_opts *o, double *ret)
{
	const struct engine_loaded *l = o->loaded;
	const double all[OPTIONS_ALIKE] = {model_number(o->model),
					   o->model->side,
					   (double)o->epochs,
					   (double)o->max_steps,
					   o->batch,
					   o->lr,
					   o->momentum,
					   o->decay,
					   (double)o->lr_every,
					   o->lr_gamma,
					   (double)o->asked,
					   (double)o->asked_validation,
					   o->drop_last,
					   o->is_sharded,
					   l ? l->precision : ENGINE_FLOAT32,
					   l && l->choice && l->choice->tf32,
					   o->checkpoint != NULL,
					   (double)o->checkpoint_bytes};

	memcpy(ret, all, sizeof(all));
}

int options_odd(const double *a, const double *b)
{
	for (int i = 0; i < OPTIONS_ALIKE; i++)
		if (memcmp(&a[i], &b[i], sizeof(*a)))
			return i;
	return -1;
}

/* A number comes from another process: it may be none of the list's. */
static const char *word(const char *const *words, double value)
{
	for (int i = 0; words[i]; i++)
		if (value >= i && value < i + 1)
			return words[i];
	return "?";
}

const char *options_text(int which, double value, struct arena *a)
{
	const struct option *o = &options[which];
	bool lacks = !(value < 0 || value > 0);

	if (o->may_lack && lacks)
		return arena_printf(a, "no %s", o->name);
	if (o->is_flag)
		return o->name;
	if (o->words)
		return arena_printf(a, "%s %s", o->name, word(o->words, value));
	return arena_printf(a, "%s %.10g", o->name, value);
}
