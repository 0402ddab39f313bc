/* Messages of exceptions behind a logger's head, or without the exception's name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/told.h"

#define LONG_LOG "starting\nreading the data\nbuilding the model\n12 layers\nready\n"

static void check_from(const char *log, const char *want, int least)
{
	AUTO(told_done) struct told t;
	const struct cause *c;

	tell_of(&t, log);
	c = t.x.causes.n ? &t.x.causes.v[0] : NULL;
	if (c && c->weight < least)
		c = NULL;
	if (!want ? c != NULL : !c || !streq(c->sig->id, want))
		fail_msg("%s instead of %s: %s", c ? c->sig->id : "nothing",
			 want ? want : "nothing", log);
}

static void check(const char *log, const char *want) { check_from(log, want, CONFIDENT); }

/* It is shown first, and is not sure. */
static void suspect(const char *log, const char *want)
{
	check(log, NULL);
	check_from(log, want, 1);
}

static void a_logger_stands_before(void **state UNUSED)
{
	static const char *const heads[] = {
		"ERROR:root:",
		"ERROR:__main__:",
		"[ERROR] ",
		"ERROR: ",
		"ERROR 10-15 13:20:53 core.py:846] ",
		"(EngineCore_DP0 pid=77) ERROR 10-15 13:20:53 [core.py:846] ",
		"2026-10-15 13:20:53.118 | ERROR    | mod.x:fn:12 - ",
		"2026-10-15 13:20:53,118 - mod.x - ERROR - ",
		"[2026-10-15 13:20:53,118][mod.x][ERROR] - ",
		"E1015 13:20:53.118000 77 torch/x.py:12] ",
		"Training failed: ",
		"Exception: ",
		"Error: ",
		"ERROR:root:Error: ",
		"[rank3]: ERROR:root:",
	};

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		AUTO(arena_done) struct arena a = {0};

		check(arena_printf(&a, LONG_LOG "%sOSError: [Errno 38] Function not implemented\n",
				   heads[i]),
		      "DAT-027");
		check(arena_printf(&a, LONG_LOG "%sValueError: Mismatched versions found\n",
				   heads[i]),
		      "DSK-008");
	}
}

static void the_name_is_missing(void **state UNUSED)
{
	static const char *const heads[] = {
		"ERROR:root:",
		"[ERROR] ",
		"Error: ",
		"2026-10-15 13:20:53.118 | ERROR    | mod.x:fn:12 - ",
		"2026-10-15 13:20:53,118 - mod.x - ERROR - ",
		"E1015 13:20:53.118000 77 torch/x.py:12] ",
	};

	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		AUTO(arena_done) struct arena a = {0};

		check(arena_printf(&a,
				   LONG_LOG "%selement 0 of tensors does not require grad and "
					    "does not have a grad_fn\n",
				   heads[i]),
		      "PT-148");
	}
}

static void a_line_that_was_pasted(void **state UNUSED)
{
	suspect("element 0 of tensors does not require grad and does not have a grad_fn\n",
		"PT-148");
	check("No module named 'flash_attn'", "LIB-003");
	check("[Errno 2] No such file or directory: '/data/part-1'\n", "DAT-001");
	check("[Errno 13] Permission denied: '/shared/ckpt/epoch_1'\n", "DAT-002");
	check("[Bug]: Training stops with OSError: [Errno 38] Function not implemented\n",
	      "DAT-027");
	suspect("RuntimeError element 0 of tensors does not require grad and does not have a "
		"grad_fn\n",
		"PT-148");
	suspect("[BUG] `Attempting to unscale FP16 gradients.`\n", "PT-149");
	suspect("Parquet magic bytes not found in footer. Is this a parquet file?\n", "HUB-018");
	suspect("Attempting to unscale FP16 gradients.\nwith two GPUs\n", "PT-149");
}

/* What four plain words say is a suspicion: they may be anybody's. */
static void what_a_program_says_of_itself_is_no_failure(void **state UNUSED)
{
	check("epoch 1 done\nThe output directory runs/1 already exists, overwriting it\n", NULL);
	check("Checkpoint file already exists, resuming from step 100\n", NULL);
}

/* The traceback had ended: what follows is a text about it. */
static void what_stands_below_no_frame_was_not_raised(void **state UNUSED)
{
	check(LONG_LOG "Traceback (most recent call last):\n"
		       "  File \"a.py\", line 3, in <module>\n"
		       "KeyError: 3\n"
		       "retrying...\n"
		       "all ok, epoch 3\n"
		       "source listing:\n"
		       "    raise ValueError(\"Attempting to unscale FP16 gradients.\")\n",
	      "APP-001");
}

static void a_log_that_was_cut(void **state UNUSED)
{
	check(LONG_LOG "Traceback (most recent call last):\n"
		       "  File \"train.py\", line 3, in <module>\n"
		       "    raise ValueError(\"Attempting to unscale FP16 gradients.\")\n",
	      "PT-149");
	/* not cut: what was raised stands below */
	check(LONG_LOG "Traceback (most recent call last):\n"
		       "  File \"train.py\", line 3, in <module>\n"
		       "    raise ValueError(\"Attempting to unscale FP16 gradients.\")\n"
		       "KeyError: 'x'\n",
	      "APP-001");
	check(LONG_LOG "    raise ValueError(\"Attempting to unscale FP16 gradients.\")\n", NULL);
}

static void what_is_no_error_is_left_alone(void **state UNUSED)
{
	/* in a log the words alone are text */
	check(LONG_LOG "element 0 of tensors does not require grad and does not have a grad_fn\n",
	      NULL);
	check(LONG_LOG "No module named 'flash_attn'\n", NULL);
	check(LONG_LOG "WARNING:root:OSError: [Errno 38] Function not implemented\n", NULL);
	check(LONG_LOG "INFO:root:caught OSError: [Errno 38] Function not implemented\n", NULL);
	check(LONG_LOG "ERROR:root:OSError: [Errno 38] Function not implemented, ignored\n", NULL);
	check(LONG_LOG "[ERROR] No module named 'flash_attn', continuing without\n", NULL);
	check("the model was saved to out/model_3.pt\n", NULL);
	check("this is a sentence of several words\nand another one of them\n", NULL);
	check("W1015 13:20:53.118 x.py:12] Attempting to unscale FP16 gradients.\n", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_logger_stands_before),
		cmocka_unit_test(the_name_is_missing),
		cmocka_unit_test(a_line_that_was_pasted),
		cmocka_unit_test(what_a_program_says_of_itself_is_no_failure),
		cmocka_unit_test(what_stands_below_no_frame_was_not_raised),
		cmocka_unit_test(a_log_that_was_cut),
		cmocka_unit_test(what_is_no_error_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
