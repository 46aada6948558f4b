# %% make
graph = {n: {n * k % 60_013 for k in (3, 5, 7, 11, 13)} for n in range(60_013)}

# %% derive
distance = {1: 0}
todo = [1]
for node in todo:
    for near in graph[node]:
        if near not in distance:
            distance[near] = distance[node] + 1
            todo.append(near)
degree = {n: len(near) for n, near in graph.items()}

# %% use
print(len(distance), max(distance.values()), sum(degree.values()), EDITION)
