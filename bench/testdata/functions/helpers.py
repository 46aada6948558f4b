# Helpers that the body calls, with tables of the standard library.
import argparse
import collections
import json
import random
import sys


def make_orders(count, rng):
    regions, goods = ["north", "south", "east", "west"], ["tea", "rice", "oil", "salt", "corn"]
    return [
        {"id": i, "region": rng.choice(regions), "good": rng.choice(goods), "units": rng.randint(1, 40),
         "price": rng.randint(100, 5000) / 100}
        for i in range(count)
    ]


def clean(orders, largest):
    kept, dropped = [], 0
    for order in orders:
        if order["units"] > largest:
            dropped += 1
            continue
        kept.append({**order, "value": round(order["units"] * order["price"], 2)})
    return kept, dropped


def by(orders, key):
    totals = collections.defaultdict(float)
    for order in orders:
        totals[order[key]] += order["value"]
    return {k: round(v, 2) for k, v in sorted(totals.items())}


def summarize(orders):
    best = sorted(orders, key=lambda o: (-o["value"], o["id"]))[:3]

    per_region = by(orders, "region")
    per_good = by(orders, "good")
    return {"best": [o["id"] for o in best], "region": per_region, "good": per_good}


def main(argv=None):
    parser = argparse.ArgumentParser(description="a report of orders")
    parser.add_argument("--count", type=int, default=60_000)
    parser.add_argument("--largest", type=int, default=35)
    parser.add_argument("--seed", type=int, default=3)
    args = parser.parse_args(argv)

    rng = random.Random(args.seed)
    orders = make_orders(args.count, rng)
    print(f"{len(orders)} orders")

    kept, dropped = clean(orders, args.largest)
    print(f"kept {len(kept)}, dropped {dropped}")
    if not kept:
        return 1

    report = summarize(kept)
    print(json.dumps(report["region"], indent=1))

    text = json.dumps(report, indent=1, sort_keys=True)
    with open("report.json", "w") as f:
        f.write(text)
    print(f"wrote {len(text)} characters")
    return 0


if __name__ == "__main__":
    sys.exit(main())
