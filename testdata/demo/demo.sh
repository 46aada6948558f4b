#!/bin/sh
# The main job, on real data, in a fresh folder. usage: demo.sh XSTATE FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
PATH=$(cd "$(dirname "$1")" && pwd):$PATH
rm -rf "$2"
mkdir -p "$2"
cp "$here/analysis.py" "$here/penguins.csv" "$here/DATA.md" "$2"
cd "$2"

say() { printf '\n# %s\n' "$*"; }
run() { printf '$ %s\n' "$*"; "$@"; }

say "Thirteen blocks, 344 penguins. The first time, every block runs."
run xstate run analysis.py

say "Again: nothing has changed, so nothing runs. No interpreter is started."
run xstate run analysis.py

say "Comments and layout are no change either."
run cp "$here/edits/01-comment.py" analysis.py
run xstate run analysis.py

say "Now one function, quantile, gets another body. What would run, why, and for how long?"
run cp "$here/edits/02-function.py" analysis.py
run xstate plan analysis.py

say "Do it, and compare the outcome with a run from scratch."
run xstate run --verify analysis.py

say "Why did that block run?"
run xstate why report

say "What was the code of quantile before, and what had the blocks printed?"
run xstate query --at-step 14 --block helpers

say "The history."
run xstate log

say "The folder is $2: edit analysis.py there and run it again."
