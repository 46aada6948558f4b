# make          format, vet, the linters of each language, quick tests
# make build    bin/xstate
# make demo     the main job on real data; needs Go, a C compiler and python3, nothing else
# make test     sets up what the tests need, then runs them all: half an hour on 2 cores
# make test-all the same, with every session in both modes on every interpreter, and no run from scratch shared
#               before that, known vulnerabilities in what xstate calls, where their database can be reached
# make fuzz     random programs for FUZZTIME, a thousand kills, then every fuzz target for as long
# make faults   planted faults (testdata/faults), each of which the tests of make test must find
# make selection  tests that an edit affects, against running all and against pytest-testmon: half an hour
# make readme   the sessions in README.md and docs/audit.md anew
# make lab      a session in JupyterLab in Chromium, which must be installed, and the pictures of docs/notebooks.md
# make page     the page of xstate ui in Chromium, which must be installed, and the pictures of docs/ui.md
# make cells    public notebooks and EDITS edits of each in Jupyter, beside ipykernel and marimo: half an hour
# make notebooks  what run --write writes, compared with Jupyter, which it installs into build/notebooks
# make remote   bazel-remote on loopback with an empty cache; it prints its address, and ends by Ctrl-C
# make shared   results shared between machines, into docs/remote.md
# make workers  blocks and forks that workers execute, into docs/remote.md
# make rollouts  what rollouts of an agent share, into docs/remote.md
# make adapters  the adapters of the Python client with their frameworks, which it installs into build/adapters
# make executors  the same adapters against the frameworks' own executors of code, into docs/benchmarks.md
# make bench    what re-execution saves, and whether it is right, against simpler ways: at most a quarter of an hour
# make bench-peers  the same for marimo, ipyflow, joblib.Memory and nbclient beside xstate
# make bench-readme  tables and plot of make bench and make bench-peers into docs/benchmarks.md
# make shapes   first runs and edits by the shape of the data, against plain Python and Node, into docs/benchmarks.md
# make compare  OLD and NEW (commits) in turn, judged by benchstat; BENCH names benchmarks of the engine
# make baseline the times of the engine into bench/baselines/DATE.txt, beside those kept before
# make growth   what an edit costs the engine in programs of NODES nodes, and plots of it: a quarter of an hour
# make cross    vets and links for macOS and Linux, amd64 and arm64, into build/cross; needs python3 with pip
# make release VERSION=v1.2.3  archives for these platforms, packages, what installs them, and checksums
# make generate the protobuf messages of the documents, the Go code of the API, and parts of the Python client
# make man      manual pages into build/man
# make bench-full  the same as make bench on more and larger programs, and what the engine costs in ratios

# Interpreters to test with; none: see .ci/venv.
PYTHONS  =
FUZZTIME = 1m
NODES    = 100,1000,10000,100000
EDITS    = 5
# Commits that make compare times, and which benchmarks it and make baseline run.
OLD      = HEAD~1
NEW      = HEAD
BENCH    = .

# The programs np-*, pa-*, pd-*, pl-* and sympy-* need packages, which make test installs.
check: format vet lint
	go test -short -skip '^TestPrograms$$/^(np|pa|pd|pl|sympy)-' ./...

format:
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "not formatted (gofmt -w):" $$unformatted; exit 1; }

vet:
	go vet ./...

lint:
	.ci/lint

build:
	go build -o bin/xstate ./cmd/xstate

demo: build
	@testdata/demo/demo.sh bin/xstate build/demo

test:
	.ci/test $(PYTHONS)

test-all:
	.ci/vulnerabilities
	XSTATE_TEST_ALL=1 .ci/test $(PYTHONS)

fuzz:
	.ci/fuzz $(FUZZTIME) $(PYTHONS)

faults:
	.ci/faults

readme: build
	.ci/readme bin/xstate

lab: build
	.ci/lab bin/xstate

page: build
	.ci/page bin/xstate

cells: build
	.ci/cells bin/xstate $(EDITS) $(PYTHON)

notebooks: build
	.ci/notebooks bin/xstate build/notebooks $(PYTHON)

adapters: build
	.ci/adapters bin/xstate $(PYTHON)

executors: build
	.ci/executors bin/xstate $(PYTHON)

remote:
	.ci/remote

shared: build
	.ci/shared bin/xstate $(PYTHON)

rollouts: build
	.ci/rollouts bin/xstate $(PYTHON)

workers: build
	.ci/workers bin/xstate $(PYTHON)

bench: build
	.ci/bench bin/xstate build/bench --size 10,40 --edits 8 --budget 13m

bench-readme:
	.ci/bench-readme build/bench build/bench-peers

bench-peers: build
	.ci/bench-peers bin/xstate

bench-full: build
	.ci/bench-full bin/xstate $(PYTHONS)

shapes:
	.ci/shapes $(PYTHONS)

growth:
	.ci/growth $(NODES)

compare:
	.ci/compare $(OLD) $(NEW) '$(BENCH)'

baseline:
	.ci/baseline '$(BENCH)'

selection:
	.ci/selection build/selection $(PYTHON)

cross:
	.ci/cross $(CURDIR)/build/cross

release:
	.ci/release $(VERSION)

generate:
	.ci/generate

man: build
	bin/xstate man build/man

clean:
	rm -rf bin build

.PHONY: check format vet lint build demo test test-all fuzz faults readme lab cells notebooks adapters \
	remote shared workers rollouts executors bench bench-peers bench-readme bench-full shapes growth compare baseline selection \
	cross release generate man clean
