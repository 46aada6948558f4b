"""Writes the data of the programs in data: python3 make_data.py. All of it is drawn from a seed; none is real."""
import csv
import datetime
import math
import os
import random

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def table(name, header, rows):
    path = os.path.join(FOLDER, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(header)
        out.writerows(rows)


def sales(r):
    start = datetime.date(2024, 1, 1)
    table("sales/sales.csv", ["day", "shop", "item", "price", "count"],
          [[start + datetime.timedelta(r.randrange(366)), "shop %d" % r.randrange(6), r.randrange(40),
            "" if r.random() < 0.03 else "%.2f" % r.gammavariate(2, 10), r.randrange(1, 9)] for _ in range(900)])
    table("sales/items.csv", ["item", "kind"], [[i, ["tools", "paper", "food", "toys"][i % 4]] for i in range(40)])


def sensors(r):
    rows = []
    for t in range(600):
        row = [t]
        for s in range(5):
            x = 20 + s + 6 * math.sin(t / 48 * math.tau + s) + r.gauss(0, 0.7)
            row.append("%.3f" % (x + 40 if r.random() < 0.01 else x))
        rows.append(row)
    table("sensors/sensors.csv", ["t", "a", "b", "c", "d", "e"], rows)


def log(r):
    pages = ["/", "/shop", "/cart", "/pay", "/about", "/help"]
    now = datetime.datetime(2024, 5, 1)
    os.makedirs(os.path.join(FOLDER, "log"), exist_ok=True)
    with open(os.path.join(FOLDER, "log", "access.log"), "w") as f:
        for _ in range(1200):
            now += datetime.timedelta(seconds=r.expovariate(1 / 40))
            f.write("10.0.%d.%d - [%s] \"GET %s\" %d %d\n" % (r.randrange(3), r.randrange(20), now.strftime("%Y-%m-%dT%H:%M:%S"),
                    r.choice(pages), r.choices([200, 304, 404, 500], [80, 10, 8, 2])[0], r.randrange(200, 9000)))


def survey(r):
    table("survey/survey.csv", ["person", "age", "group", "before", "after"],
          [[i, r.randrange(18, 80), r.choice("ABC"), round(r.gauss(50, 10), 1), round(r.gauss(54, 11), 1)] for i in range(240)])


def orders(r):
    table("orders/customers.csv", ["id", "name", "town"], [[i, "customer %d" % i, r.choice(["Bern", "Basel", "Chur", "Genf"])] for i in range(60)])
    table("orders/orders.csv", ["id", "customer", "day", "amount"], [[i, r.randrange(60), r.randrange(1, 366), round(r.lognormvariate(3, 0.8), 2)] for i in range(800)])


def texts(r):
    words = "time year people way day man thing woman life child world school state family student group country problem hand part place case week".split()
    lines = []
    for topic in range(60):
        own = r.sample(words, 6)
        lines.append("# note %d" % topic)
        lines += [" ".join(r.choice(own if r.random() < 0.7 else words) for _ in range(12)) + "." for _ in range(6)]
    os.makedirs(os.path.join(FOLDER, "notes"), exist_ok=True)
    with open(os.path.join(FOLDER, "notes", "notes.txt"), "w") as f:
        f.write("\n".join(lines) + "\n")


def model(r):
    rows = []
    for _ in range(300):
        a, b, c = r.gauss(0, 1), r.gauss(0, 1), r.random()
        rows.append(["%.4f" % a, "%.4f" % b, "%.4f" % c, "%.4f" % (2 * a - b + 3 * c * c + r.gauss(0, 0.3))])
    table("model/measured.csv", ["a", "b", "c", "y"], rows)


if __name__ == "__main__":
    for number, make in enumerate((sales, sensors, log, survey, orders, texts, model)):
        make(random.Random(number))
