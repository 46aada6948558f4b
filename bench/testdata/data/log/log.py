# A server's log: parse, count, cut into sessions, find what fails, write a report.

# %% setup
import collections
import json
import re
from datetime import datetime

PATTERN = re.compile(r'(\S+) - \[(.*?)\] "GET (\S+)" (\d+) (\d+)')

# %% parse
class Hit:
    def __init__(self, host, when, page, status, size):
        self.host, self.page = host, page
        self.when = datetime.fromisoformat(when)
        self.status, self.size = int(status), int(size)

    def __repr__(self):
        return f"Hit({self.host}, {self.page}, {self.status})"


# %% read
hits = []
with open("access.log") as lines:
    for line in lines:
        found = PATTERN.match(line)
        if found:
            hits.append(Hit(*found.groups()))
print(len(hits), hits[0])

# %% count
pages = collections.Counter(h.page for h in hits)
status = collections.Counter(h.status for h in hits)
print(pages.most_common(3), dict(sorted(status.items())))

# %% drop
dropped = [h for h in hits if h.host.endswith(".0")]
for h in dropped:
    hits.remove(h)
print("left", len(hits))

# %% by host
by_host = collections.defaultdict(list)
for h in hits:
    by_host[h.host].append(h)
busiest = max(by_host, key=lambda host: (len(by_host[host]), host))
busiest

# %% sessions
def sessions_of(visits, gap=1800):
    session, last = [], None
    for v in visits:
        if last is not None and (v.when - last).total_seconds() > gap:
            yield session
            session = []
        session.append(v)
        last = v.when
    yield session

sessions = [s for host in sorted(by_host) for s in sessions_of(by_host[host])]
print(len(sessions), "sessions, longest", max(map(len, sessions)))

# %% paths
steps = collections.Counter()
for s in sessions:
    for a, b in zip(s, s[1:]):
        steps[a.page, b.page] += 1
print(steps.most_common(3))

# %% rank
rank = dict.fromkeys(pages, 1 / len(pages))
for _ in range(1200):
    now = dict.fromkeys(pages, 0.15 / len(pages))
    for (a, b), n in steps.items():
        now[b] += 0.85 * rank[a] * n / sum(m for (c, _), m in steps.items() if c == a)
    rank = now
ranked = sorted(rank, key=rank.get, reverse=True)
print([(p, round(rank[p], 3)) for p in ranked[:3]])

# %% failures
failures = {host: [h.page for h in visits if h.status >= 500] for host, visits in by_host.items()}
failures = {host: p for host, p in failures.items() if p}
len(failures)

# %% mark
for s in sessions:
    for h in s:
        h.weight = rank[h.page]
heavy = max(sessions, key=lambda s: sum(h.weight for h in s))
print(heavy[:2])

# %% write
report = {"hits": len(hits), "sessions": len(sessions), "ranked": ranked, "failing": sorted(failures)}
with open("report.json", "w") as out:
    json.dump(report, out, indent=1)

# %% check
with open("report.json") as f:
    again = json.load(f)
assert again["hits"] == len(hits)
print(sorted(again))
