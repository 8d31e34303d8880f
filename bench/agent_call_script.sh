#!/bin/sh
# One answer of an agent, as a script gets it: LANE PROMPT STREAM ANSWER PROGRAM WORDS…
set -eu
cd "$1"
prompt=$2 stream=$3 answer=$4
shift 4
"$@" <"$prompt" >"$stream"
cat "$answer"
