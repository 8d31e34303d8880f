#!/bin/sh
# The work of one lane cycle as somebody would write it down by hand: git and pytest, nothing else.
#
# usage: lane_script.sh ROOT POOL FILES SIBLING RED GREEN MERGE REBASE
#
#   ROOT    the repository, with a branch `main`; POOL holds worktrees that are used again: lanes and check
#   FILES   a folder with `tests`, `impl` and `sibling`: what the agents write in each lane
#   …       how many times the tests are run for each verdict; every run has a clean checkout of the commit it is about
#
# Each verdict on a claim is given in the worktree `check`: `checkout -f --detach` and `clean -fdx` before each run, no
# cache, no bytecode from before, a report outside of the checkout. A run is believed by its exit code alone. Merge and
# rebase move branches that nobody has checked out (merge-tree, commit-tree, update-ref). PYTHON is the interpreter,
# PLUGINS the options that name pytest's plugins; no others are loaded.
set -eu
root=$1 pool=$2 files=$3 beside=$4 red=$5 green=$6 merge=$7 rebase=$8
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x
mkdir -p "$pool"

lease() { # WORKTREE BRANCH COMMIT
  if [ -d "$pool/$1" ]; then git -C "$pool/$1" checkout -q -f -B "$2" "$3" && git -C "$pool/$1" clean -fdxq
  else git -C "$root" worktree add -q -f -B "$2" "$pool/$1" "$3"; fi
}
clean() { # COMMIT
  if [ -d "$pool/check" ]; then git -C "$pool/check" checkout -q -f --detach "$1" && git -C "$pool/check" clean -fdxq
  else git -C "$root" worktree add -q --detach "$pool/check" "$1"; fi
}
runs() { # TIMES EXPECTED-EXIT COMMIT OTHER-COMMIT: every second run is of the other one, whatever it says
  n=0
  while [ "$n" -lt "$1" ]; do
    if [ $((n % 2)) -eq 0 ]; then commit=$3 wanted=$2; else commit=$4 wanted=any; fi
    clean "$commit"
    code=0
    (cd "$pool/check" && "$PYTHON" -m pytest -q $PLUGINS --junit-xml="$pool/report.xml" >"$pool/out" 2>&1) || code=$?
    [ "$wanted" = any ] || [ "$code" = "$wanted" ] || { cat "$pool/out" >&2; exit 1; }
    n=$((n + 1))
  done
}
record() { # WORKTREE MESSAGE: all there is as one commit
  git -C "$pool/$1" add -A && git -C "$pool/$1" commit -q -m "$2" && git -C "$pool/$1" rev-parse HEAD
}

base=$(git -C "$root" rev-parse main)

lease sibling sibling "$base"
cp -R "$files/sibling/." "$pool/sibling"
sibling=$(record sibling "sibling")
runs "$beside" 0 "$sibling" "$base"

lease tests tests "$base"
cp -R "$files/tests/." "$pool/tests"
claimed=$(record tests "tests")
runs "$red" 1 "$claimed" "$base"

lease impl impl "$claimed"
cp -R "$files/impl/." "$pool/impl"
done_=$(record impl "impl")
git -C "$root" diff --quiet "$claimed" "$done_" -- tests
runs "$green" 0 "$done_" "$done_"

tree=$(git -C "$root" merge-tree --write-tree "$base" "$done_")
merged=$(git -C "$root" commit-tree "$tree" -p "$base" -m "feat: implement")
runs "$merge" 0 "$merged" "$merged"
git -C "$root" update-ref refs/heads/integration "$merged"

tree=$(git -C "$root" merge-tree --write-tree "$merged" "$sibling")
rebased=$(git -C "$root" commit-tree "$tree" -p "$merged" -m "sibling")
runs "$rebase" 0 "$rebased" "$sibling"
git -C "$root" update-ref refs/heads/sibling-rebased "$rebased"
