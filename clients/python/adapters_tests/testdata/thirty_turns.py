# %% orders
orders = [
    {"day": "03-01", "customer": "Ada", "item": "tea", "count": 3, "price": 4.0, "cancelled": False},
    {"day": "03-01", "customer": "Bob", "item": "coffee", "count": 1, "price": 9.5, "cancelled": False},
    {"day": "03-02", "customer": "Ada", "item": "sugar", "count": 2, "price": 1.5, "cancelled": False},
    {"day": "03-02", "customer": "Eve", "item": "coffee", "count": 4, "price": 9.5, "cancelled": True},
    {"day": "03-03", "customer": "Bob", "item": "tea", "count": 6, "price": 4.0, "cancelled": False},
    {"day": "03-04", "customer": "Eve", "item": "tea", "count": 2, "price": 4.0, "cancelled": False},
    {"day": "03-04", "customer": "Ada", "item": "coffee", "count": 2, "price": 9.5, "cancelled": False},
]
print("orders:", len(orders))
# %% rates
discount = 0.1
tax = 0.19
print("rates:", discount, tax)
# %% amounts
for order in orders:
    order["amount"] = order["count"] * order["price"]
print("amounts:", [order["amount"] for order in orders])
# %% net
def net(order):
    return order["amount"] * (1 - discount)


print("net of the first:", net(orders[0]))
# %% nets
nets = [round(net(order), 2) for order in orders]
print("nets:", nets, "sum", round(sum(nets), 2))
# %% customers
totals = {}
for order in orders:
    totals[order["customer"]] = round(totals.get(order["customer"], 0) + net(order), 2)
print("totals:", totals)
# %% best
best = max(totals, key=totals.get)
print("best customer:", best, totals[best])
# %% rates
discount = 0.15
tax = 0.19
print("rates:", discount, tax)
# %% days
days = {}
for order in orders:
    days.setdefault(order["day"], []).append(round(net(order), 2))
print("days:", {day: round(sum(of), 2) for day, of in days.items()})
# %% growth
sums = [round(sum(of), 2) for of in days.values()]
growth = [round(later - earlier, 2) for earlier, later in zip(sums, sum[1:])]
print("growth:", growth)
# %% growth
sums = [round(sum(of), 2) for of in days.values()]
growth = [round(later - earlier, 2) for earlier, later in zip(sums, sums[1:])]
print("growth:", growth)
# %% stock
stock = {"tea": 20, "coffee": 10, "sugar": 15}
print("stock:", stock)
# %% shipped
for order in orders:
    stock[order["item"]] -= order["count"]
print("after shipping:", stock)
# %% low
low = sorted(item for item, left in stock.items() if left < 8)
print("low:", low)
# %% net
def net(order):
    return order["amount"] * (1 - discount if order["count"] >= 3 else 1)


print("net of the first:", net(orders[0]))
# %% close
entry = book("March is closed")
print("closed:", entry, "sum", round(sum(net), 2))
# %% close
entry = book("March is closed")
print("closed:", entry, "sum", round(sum(nets), 2))
# %% share
share = {customer: round(total / sum(totals.values()), 3) for customer, total in totals.items()}
print("share:", share)
# %% rank
rank = sorted(totals, key=lambda customer: -totals[customer])
print("rank:", rank)
# %% amounts
for order in orders:
    order["amount"] = 0.0 if order["cancelled"] else order["count"] * order["price"]
print("amounts:", [order["amount"] for order in orders])
# %% simulation
import random

draw = random.Random(7)
weeks = []
for _ in range(2000):
    weeks.append(sum(draw.choice(sums) for _ in range(7)))
print("simulated weeks:", len(weeks), "mean", round(sum(weeks) / len(weeks), 2))
# %% forecast
weeks_sorted = sorted(weeks)
forecast = {"low": round(weeks_sorted[200], 2), "middle": round(weeks_sorted[1000], 2)}
print("forecast:", forecast)
# %% shipped
for order in orders:
    if not order["cancelled"]:
        stock[order["item"]] -= order["count"]
print("after shipping:", stock)
# %% reorder
reorder = {item: 20 - left for item, left in stock.items() if left < 12}
print("reorder:", reorder)
# %% taxes
taxes = {customer: round(total * tax, 2) for customer, total in totals.items()}
print("taxes:", taxes)
# %% orders
orders = [
    {"day": "03-01", "customer": "Ada", "item": "tea", "count": 5, "price": 4.0, "cancelled": False},
    {"day": "03-01", "customer": "Bob", "item": "coffee", "count": 1, "price": 9.5, "cancelled": False},
    {"day": "03-02", "customer": "Ada", "item": "sugar", "count": 2, "price": 1.5, "cancelled": False},
    {"day": "03-02", "customer": "Eve", "item": "coffee", "count": 4, "price": 9.5, "cancelled": True},
    {"day": "03-03", "customer": "Bob", "item": "tea", "count": 6, "price": 4.0, "cancelled": False},
    {"day": "03-04", "customer": "Eve", "item": "tea", "count": 2, "price": 4.0, "cancelled": False},
    {"day": "03-04", "customer": "Ada", "item": "coffee", "count": 2, "price": 9.5, "cancelled": False},
]
print("orders:", len(orders))
# %% summary
summary = f"{len(orders)} orders, net {round(sum(nets), 2)}, best {best}"
print("summary:", summary)
# %% check
difference = round(sum(order["amount"] for order in orders) - sum(nets), 2)
print("discounts given:", difference)
# %% letters
letters = [f"Dear {customer}, you owe {total + taxes[customer]:.2f}." for customer, total in totals.items()]
print("letters:", letters)
# %% report
report = "\n".join(["Report", summary] + letters + ["to order: " + ", ".join(sorted(reorder))])
print(report)
