# A database file filled and asked.

# %% fill
import random
import sqlite3

random.seed(5)
connection = sqlite3.connect("shop.db")
connection.execute("create table sale (id integer primary key, shop text, item text, price real, day integer)")
shops, items = [f"shop {i}" for i in range(20)], [f"item {i}" for i in range(300)]
connection.executemany(
    "insert into sale (shop, item, price, day) values (?, ?, ?, ?)",
    ((random.choice(shops), random.choice(items), random.uniform(1, 100), random.randrange(365)) for _ in range(1_000_000)),
)
connection.commit()
connection.close()


# %% ask
def ask(query, *values):
    with sqlite3.connect("shop.db") as c:
        return c.execute(query, values).fetchall()


totals = ask("select shop, count(*), round(sum(price), 2) from sale group by shop order by 3 desc")
totals[:3]

# %% trend
months = ask("select day / 30, round(avg(price), 4) from sale group by 1 order by 1")
months

# %% pairs
common = ask("select a.item, count(*) from sale a join sale b on a.id = b.id - 1 and a.shop = b.shop group by 1 order by 2 desc, 1 limit 5")
print(common)
