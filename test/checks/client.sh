#!/bin/bash
# the client of doc/format.md and the extension build the same filters and give the same answers
set -euo pipefail

# The first Python that has the package: Debian installs it for its own.
python=
for candidate in python3 /usr/bin/python3; do
	if "$candidate" -c 'import xxhash' 2>/dev/null; then
		python=$candidate
		break
	fi
done
[ -n "$python" ] || { echo "no Python with xxhash: install python3-xxhash"; exit 1; }

sed -n '/^```python$/,/^```$/{/^```/d;p;}' doc/format.md >"$SCRATCH/client.py"
lines=$(wc -l <"$SCRATCH/client.py")
if [ "$lines" -lt 10 ] || [ "$lines" -gt 40 ]; then
	echo "doc/format.md: the client has $lines lines"
	exit 1
fi

# Filters of 200 elements by the server: geometry, kind, filter, and which of 0 .. 9999 (as the kind) it may contain.
psql -XAtq -F ' ' -v ON_ERROR_STOP=1 >"$SCRATCH/server" <<'SQL'
SELECT blocks, parts, part_bits, kind, f::text, (SELECT string_agg(CASE WHEN CASE kind WHEN 'integer' THEN f @> i::bigint ELSE f @> i::text END THEN '1' ELSE '0' END, '' ORDER BY i)
	FROM generate_series(0, 9999) i)
FROM (VALUES (1, 8, 64), (7, 8, 64), (40, 3, 64), (1, 1, 1), (1, 9, 64), (1, 5, 1000), (1, 64, 997)) g (blocks, parts, part_bits),
	(VALUES ('integer'), ('text')) k (kind),
	LATERAL (SELECT CASE kind WHEN 'integer' THEN pbf_new_geometry(blocks, parts, part_bits) + ARRAY(SELECT generate_series(-100, 99)::bigint)
		ELSE pbf_new_geometry(blocks, parts, part_bits) + ARRAY(SELECT i::text FROM generate_series(-100, 99) i) END) f (f);
SQL

"$python" - "$SCRATCH" <<'PYTHON'
import sys

sys.path.insert(0, sys.argv[1])
from client import Filter, integer, text

kinds = {"integer": integer, "text": lambda i: text(str(i))}
count = 0
for line in open(sys.argv[1] + "/server"):
    blocks, parts, part_bits, kind, f, answers = line.split()
    case = "%s x %s x %s of %s" % (blocks, parts, part_bits, kind)
    element = kinds[kind]
    ours = Filter.new(int(blocks), int(parts), int(part_bits))
    for i in range(-100, 100):
        ours.add(element(i))
    assert "\\x" + ours.data().hex() == f, case + ": not the same filter"
    theirs = Filter(bytes.fromhex(f[2:]))
    assert all(theirs.contains(element(i)) for i in range(-100, 100)), case + ": an element is missing"
    assert "".join("01"[theirs.contains(element(i))] for i in range(10000)) == answers, case + ": other answers"
    assert theirs.data() == ours.data(), case
    count += 1
golden = Filter.new(3, 2)
golden.add(integer(42))
assert golden.data().hex() in open("doc/format.md").read(), "not the golden filter"
print("%d filters" % count)
sys.exit(count != 14)
PYTHON
