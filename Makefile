# make          format, vet, staticcheck, quick tests
# make build    bin/xstate
# make demo     the main job on real data; needs Go, a C compiler and python3, nothing else
# make test     sets up what the tests need, then runs them all
# make fuzz     random programs for FUZZTIME, a thousand kills, then every fuzz target for as long
# make selection tests that an edit affects, against running all of them and against pytest-testmon (half an hour)
# make readme   the sessions in README.md and docs/audit.md anew
# make bench    what re-execution saves, and whether it is right, against simpler ways: at most a quarter of an hour
# make bench-peers  the same for marimo, ipyflow, joblib.Memory and nbclient beside xstate, in an environment that it makes
# make bench-readme  tables and plot of make bench and make bench-peers into docs/benchmarks.md
# make compare  OLD and NEW (commits) in turn, judged by benchstat; BENCH names benchmarks of the engine
# make baseline the times of the engine into bench/baselines/DATE.txt, beside those kept before
# make growth   what an edit costs the engine in programs of NODES nodes, and plots of it: up to 100,000 a few minutes, 1,000,000 a quarter of an hour
# make bench-full  the same on more and larger programs, and what the engine costs, as ratios to something measured in the same run

# Interpreters to test with; none: see .ci/venv.
PYTHONS  =
FUZZTIME = 1m
NODES    = 100,1000,10000,100000
# Commits that make compare times, and which benchmarks it and make baseline run.
OLD      = HEAD~1
NEW      = HEAD
BENCH    = .

# The programs np-* and pd-* need packages, which make test installs.
check: format vet lint
	go test -short -skip '^TestPrograms$$/^(np|pd)-' ./...

format:
	@unformatted=$$(gofmt -l .) && test -z "$$unformatted" || { echo "not formatted (gofmt -w):" $$unformatted; exit 1; }

vet:
	go vet ./...

lint:
	go tool staticcheck ./...

build:
	go build -o bin/xstate ./cmd/xstate

demo: build
	@testdata/demo/demo.sh bin/xstate build/demo

test:
	.ci/test $(PYTHONS)

fuzz:
	.ci/fuzz $(FUZZTIME) $(PYTHONS)

readme: build
	.ci/readme bin/xstate

bench: build
	.ci/bench bin/xstate build/bench --size 10,40 --edits 8 --budget 13m

bench-readme:
	.ci/bench-readme build/bench build/bench-peers

bench-peers: build
	XSTATE_TEST_PYTHONS=$$(MORE=bench/peers/requirements.txt .ci/venv build/peers python3) && export XSTATE_TEST_PYTHONS && go test -run '^TestPeer' ./bench
	.ci/bench bin/xstate build/bench-peers --peers --strategy xstate --size 20 --edits 8

bench-full: build
	.ci/bench bin/xstate build/bench-full --size 10,40,160,640 --edits 20
	XSTATE_TEST_PYTHONS=$$(.ci/venv build/venv $(PYTHONS)) && export XSTATE_TEST_PYTHONS && \
	go test -run '^$$' -bench . -benchtime 5x -timeout 6h ./bench
	go test -run '^$$' -bench 'Analyze$$|BareParse$$' ./depgraph/python | awk -f .ci/ratio.awk

growth:
	mkdir -p build/growth && XSTATE_BENCH_GROWTH=$$PWD/build/growth XSTATE_BENCH_NODES=$(NODES) go test -run '^$$' -bench 'Cost|NullProcess' -benchtime 40x -timeout 6h ./bench
	go test -run '^$$' -bench Invalidate ./runner
	@echo plots: build/growth/growth-size.svg build/growth/growth-affected.svg

compare:
	.ci/compare $(OLD) $(NEW) '$(BENCH)'

baseline:
	.ci/baseline '$(BENCH)'

selection:
	.ci/selection build/selection $(PYTHON)

clean:
	rm -rf bin build

.PHONY: check format vet lint build demo test fuzz readme bench bench-peers bench-readme bench-full growth compare baseline selection clean
