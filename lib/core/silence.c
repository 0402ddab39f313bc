#include "lib/core/silence.h"

void silence_begin(struct silence *s, uint64_t most_ns, uint64_t now_ns)
{
	*s = (struct silence){.most_ns = most_ns, .since_ns = now_ns};
}

void silence_heard(struct silence *s, uint64_t now_ns)
{
	s->since_ns = now_ns;
	s->forgiven = false;
}

bool silence_overslept(uint64_t due_ns, uint64_t most_ns, uint64_t now_ns)
{
	return now_ns > due_ns && now_ns - due_ns > most_ns / 2;
}

void silence_forgive(struct silence *s, uint64_t due_ns, uint64_t now_ns)
{
	uint64_t slept_ns = now_ns - due_ns;

	s->since_ns = s->forgiven && s->since_ns < due_ns ? s->since_ns + slept_ns : now_ns;
	s->forgiven = true;
}

uint64_t silence_look(struct silence *s, uint64_t now_ns, uint64_t step_ns)
{
	uint64_t step = step_ns ? step_ns : s->most_ns / SILENCE_LOOKS, left;

	if (s->due_ns && silence_overslept(s->due_ns, s->most_ns, now_ns))
		silence_forgive(s, s->due_ns, now_ns);
	left = now_ns - s->since_ns < s->most_ns ? s->most_ns - (now_ns - s->since_ns) : 0;
	if (step > left)
		step = left;
	s->due_ns = now_ns + step;
	return step;
}
