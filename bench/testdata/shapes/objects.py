# %% classes
from dataclasses import dataclass


@dataclass
class Order:
    number: int
    customer: str
    amount: float
    paid: bool = False


# %% make
orders = [Order(i, f"customer {i % 997}", i * 0.25) for i in range(150_000)]

# %% derive
large = [Order(o.number, o.customer.upper(), o.amount * 2, True) for o in orders if o.number % 2]

# %% use
print(len(large), sum(o.amount for o in large), EDITION)
