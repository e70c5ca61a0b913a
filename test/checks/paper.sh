#!/bin/bash
# the paper's tables are computed and measured as doc/paper.md says
set -euo pipefail

bash test/paper/reproduce.sh 0.05 200000 "$SCRATCH/out"

# What does not depend on measuring must stand in the document as it is.
missing=
for file in "$SCRATCH"/out/*.fixed; do
	while IFS= read -r line; do
		grep -qF -e "$line" doc/paper.md || missing+="$(basename "$file" .fixed): $line"$'\n'
	done <"$file"
done
[ -z "$missing" ] || { printf 'not in doc/paper.md (bash test/paper/run.sh --write):\n%s' "$missing"; exit 1; }
