#!/bin/sh
# The main job, on real data, in a fresh folder. usage: demo.sh XSTATE FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
rm -rf "$2"
mkdir -p "$2"
cp -r "$here/analysis.py" "$here/penguins.csv" "$here/DATA.md" "$here/edits" "$2"
cd "$2"

say() { printf '\n# %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@" 2>&1; }

say "Twelve blocks, 344 penguins. The first time, every block runs."
run xstate run analysis.py

say "Again: nothing has changed, so nothing runs. No interpreter is started."
run xstate run analysis.py

say "Comments and layout are no change either."
run cp edits/01-comment.py analysis.py
run xstate run analysis.py

say "Now one function, quantile, gets another body. What would run, why, and for how long?"
run cp edits/02-function.py analysis.py
run xstate plan analysis.py

say "Do it, and compare the outcome with a run from scratch."
run xstate run --verify analysis.py

say "Why did the report run again?"
run xstate why report

say "What was the interval at step 14, by which code, and what did that code read?"
run xstate query --at-step 14 --block interval

say "What would have to run again if quantile changed once more?"
run xstate query --affected-by quantile

say "The history."
run xstate log

say "All of it is in $2. Edit analysis.py there and run it again."
