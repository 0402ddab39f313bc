/*
 * Plays thousands of hosts: takes the place of ssh (`windsock --rsh`), and
 * answers at once with the report of the host it is called for.
 *
 *	windsock_player HOST COMMAND
 *
 * $WINDSOCK_CAST is a folder with windsock.json and ifprobe.json, reports in
 * which @H@ stands for the host's name and @N@ for its number, and odd.json,
 * which every 97th host answers instead of windsock.json.
 */
#include "lib/core/file.h"

static unsigned number_of(const char *host)
{
	const char *digits = host + strcspn(host, "0123456789");

	return (unsigned)strtoul(digits, NULL, 10);
}

static const char *role(const char *command, unsigned number)
{
	enum { ODD_ONE_OUT = 97, ODD = 50 };

	if (strstr(command, "ifprobe"))
		return "ifprobe";
	return number % ODD_ONE_OUT == ODD ? "odd" : "windsock";
}

static void play(const char *text, const char *host, unsigned number)
{
	const char *at;

	for (; (at = strchr(text, '@')); text = at + 3) {
		(void)fwrite(text, 1, (size_t)(at - text), stdout);
		if (starts_with(at, "@H@"))
			(void)fputs(host, stdout);
		else if (starts_with(at, "@N@"))
			(void)printf("%u", number);
		else
			(void)fwrite(at, 1, strnlen(at, 3), stdout);
		if (strnlen(at, 3) < 3)
			return;
	}
	(void)fputs(text, stdout);
}

int main(int argc, char **argv)
{
	const char *cast = getenv("WINDSOCK_CAST");
	struct arena a = {0};
	struct err e = {0};
	unsigned number;
	char *text;
	size_t n;

	if (argc < 3 || !cast)
		return 2;
	number = number_of(argv[1]);
	if (file_read(arena_printf(&a, "%s/%s.json", cast, role(argv[2], number)), 64 << 20, &a,
		      &text, &n, &e)) {
		(void)fprintf(stderr, "windsock_player: %s\n", e.msg);
		return 1;
	}
	play(text, argv[1], number);
	arena_done(&a);
	return fflush(stdout) ? 1 : 0;
}
