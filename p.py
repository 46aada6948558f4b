# %% a
def make():
    class L:
        pass
    return L
# %% b
a = make()
# %% c
b = make()
# %% d
print(a is b, isinstance(a(), b))
