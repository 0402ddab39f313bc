/* Silence is measured by who listens: one who did not run himself accuses nobody. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/core/silence.h"
#include "lib/core/units.h"

enum { MOST_S = 30 };
static const uint64_t MOST_NS = MOST_S * NS_PER_S;
static uint64_t now;
static struct silence s;

static int begin(void **state)
{
	(void)state;
	now = 1000 * NS_PER_S;
	silence_begin(&s, MOST_NS, now);
	return 0;
}

/* Looks whenever it is time to, for so long; false: the silence has lasted too long. */
static bool listen_for(uint64_t delay_ns)
{
	uint64_t until = now + delay_ns, wait;

	while ((wait = silence_look(&s, now, 0)) && now + wait <= until)
		now += wait;
	if (wait)
		now = until;
	return wait;
}

static void who_listens_hears_a_silence(void **state)
{
	(void)state;
	assert_true(listen_for(MOST_NS - 1));
	assert_false(listen_for(1));
	assert_int_equal(now, 1000 * NS_PER_S + MOST_NS); /* to the nanosecond */
	silence_heard(&s, now);
	assert_true(listen_for(MOST_NS - 1));
	silence_heard(&s, now);
	assert_true(listen_for(MOST_NS - 1));
	assert_false(listen_for(1));
}

/* Whenever it begins, however long it lasts, and whenever the peer spoke last before. */
static void who_was_stopped_accuses_nobody(void **state)
{
	for (uint64_t said = 0; said <= 5; said++) /* a word each 5 s, and all are stopped alike */
		for (uint64_t begins = 0; begins <= 5; begins++)
			for (uint64_t stop = 0; stop < 100; stop++) {
				begin(state);
				assert_true(listen_for(said * NS_PER_S));
				silence_heard(&s, now);
				assert_true(listen_for(begins * NS_PER_S));
				now += stop * NS_PER_S;
				assert_true(listen_for((5 - begins) * NS_PER_S));
				silence_heard(&s, now);
			}
}

/* It is no excuse for more than one period. */
static void after_a_stop_the_time_begins_anew(void **state)
{
	(void)state;
	assert_true(listen_for(10 * NS_PER_S));
	now += 60 * NS_PER_S;
	assert_true(listen_for(MOST_NS - 1));
	assert_false(listen_for(1));
}

/* A busy machine is late all the time, and still hears who has died. */
static void who_is_a_little_late_hears_all_the_same(void **state)
{
	uint64_t begun = now, wait;

	(void)state;
	while ((wait = silence_look(&s, now, 0)))
		now += wait + 2 * NS_PER_S;
	assert_in_range(now - begun, MOST_NS, MOST_NS + 2 * NS_PER_S);
}

/* However late each look is: one who is dead is noticed, after so many looks. */
static void who_hardly_runs_hears_all_the_same(void **state)
{
	for (uint64_t late_s = 0; late_s < 100; late_s++) {
		unsigned looks = 1;

		begin(state);
		for (uint64_t wait; (wait = silence_look(&s, now, 0)); looks++) {
			assert_in_range(looks, 1, 2 * SILENCE_LOOKS + 2);
			now += wait + late_s * NS_PER_S;
		}
	}
}

/* That is one who is dead: each word is heard, and counts as the first. */
static void a_word_is_a_new_beginning(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 100; i++) {
		assert_int_not_equal(silence_look(&s, now, 0), 0);
		now += MOST_NS;
		assert_int_not_equal(silence_look(&s, now, 0), 0);
		silence_heard(&s, now);
	}
}

static void a_step_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(silence_look(&s, now, NS_PER_S), NS_PER_S);
	now += MOST_NS - NS_PER_MS;
	silence_begin(&s, MOST_NS, now - MOST_NS + NS_PER_MS);
	assert_int_equal(silence_look(&s, now, NS_PER_S), NS_PER_MS); /* what is left */
	assert_int_equal(silence_look(&s, now + NS_PER_MS, NS_PER_S), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_listens_hears_a_silence, begin),
		cmocka_unit_test_setup(who_was_stopped_accuses_nobody, begin),
		cmocka_unit_test_setup(after_a_stop_the_time_begins_anew, begin),
		cmocka_unit_test_setup(who_is_a_little_late_hears_all_the_same, begin),
		cmocka_unit_test_setup(who_hardly_runs_hears_all_the_same, begin),
		cmocka_unit_test_setup(a_word_is_a_new_beginning, begin),
		cmocka_unit_test_setup(a_step_of_its_own, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
