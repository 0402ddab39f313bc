"""hostile_pages.py WINDSOCK COUNT RUN.json...: pages of runs in which any text, name or number may be
somebody's attempt. Fails where one of them becomes an element or an attribute, or the command breaks."""
import html.parser
import json
import random
import subprocess
import sys

EVIL = "'\"><x-evil onload=1>&lt;</script></title></style><!--\x1b[31m\u202e"


def spoilt(v, key, rng, share):
    if isinstance(v, dict):
        return {k + (EVIL if rng.random() < share * 0.15 else ""): spoilt(x, k, rng, share) for k, x in v.items()}
    if isinstance(v, list):
        return [spoilt(x, key, rng, share) for x in v]
    if rng.random() > share or key in ("windsock", "schema", "command") or isinstance(v, bool):
        return v
    if isinstance(v, str):
        return v + EVIL if rng.random() < 0.7 else EVIL
    return rng.choice([v, -1, 1e308, 0, EVIL, None, 2**53, -1e-300, [EVIL], {EVIL: EVIL}])


class Page(html.parser.HTMLParser):
    elements, evil = 0, None

    def handle_starttag(self, tag, attrs):
        self.elements += 1
        if tag == "x-evil" or any("onload" in name for name, _ in attrs):
            self.evil = self.evil or (tag, attrs)


made = 0
for number in range(int(sys.argv[2])):
    source = sys.argv[3:][number % len(sys.argv[3:])]
    rng = random.Random(number)
    with open(source, encoding="utf-8") as f:
        run = json.load(f)
    bad = {**run, **spoilt(run, "", rng, rng.choice([0.05, 0.3, 1]))}
    with open("spoilt.json", "w", encoding="utf-8") as f:
        json.dump(bad, f)
    p = subprocess.run([sys.argv[1], "diff", source, "spoilt.json", "--report", "spoilt.html", "--json"],
                       capture_output=True, text=True, timeout=60, check=False)
    assert p.returncode in (0, 1, 3), f"{source}, {number}: exit code {p.returncode}: {p.stderr}"
    json.loads(p.stdout)
    page = Page()
    with open("spoilt.html", encoding="utf-8") as f:
        page.feed(f.read())
    assert page.elements > 50 and not page.evil, f"{source}, {number}: {page.evil}"
    made += 1
print(f"{made} pages")
