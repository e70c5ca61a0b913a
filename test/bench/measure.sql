--
-- What the benchmarks measure with: cases, a procedure that times them in turns, and markdown.
--
-- A time is that of one EXECUTE within the server, taken with clock_timestamp(): no client, no result rows. It
-- includes parsing and planning, which is nothing beside queries over millions of rows; what is short is repeated
-- within one query (see `work`).
--
\set QUIET on
\pset format unaligned
\pset tuples_only on
\pset footer off
SET client_min_messages = warning;

-- work: rows, probes or whatever a time is divided by. settings: what to set for this case alone. argument: a filter
-- given to the query as $1; the planner sees a constant.
CREATE TABLE bench_case (
    grp text, ord int GENERATED ALWAYS AS IDENTITY, name text, query text, work float8 NOT NULL,
    settings text NOT NULL DEFAULT '', argument pbf,
    PRIMARY KEY (grp, name)
);
CREATE TABLE bench_time (grp text, name text, run int, ms float8, cpu_ms float8, answer text);

-- Time that this process has spent on a CPU; NULL if the system does not say. Other processes' turns do not count, so
-- this is what to go by on a busy machine. Reading stat first makes Linux bring the figure in schedstat up to date.
CREATE FUNCTION cpu_ms() RETURNS float8 LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_read_file('/proc/self/stat', 0, 1000, true);
    RETURN split_part(pg_read_file('/proc/self/schedstat', 0, 1000, true), ' ', 1)::float8 / 1e6;
END $$;

-- Runs all cases of a group, forward and backward in turn so that a drift hits all alike; run 0 only warms up. settle: a query
-- that is run before each case and does not count. After one that gave much memory back the next one may be slower (by 300 ms
-- in a virtual machine without page tables in hardware), whichever that is.
CREATE PROCEDURE measure(g text, runs int, settle text DEFAULT NULL) LANGUAGE plpgsql AS $$
DECLARE
    c record;
    filter pbf;
    start timestamptz;
    cpu_start float8;
    ms float8;
    cpu float8;
    answer text;
BEGIN
    FOR run IN 0..runs LOOP
        FOR c IN SELECT grp, name, query, settings FROM bench_case WHERE grp = g
                 ORDER BY CASE WHEN run % 2 = 0 THEN ord ELSE -ord END LOOP
            -- through bytea: in memory, not a TOAST pointer
            SELECT argument::bytea::pbf INTO filter FROM bench_case b WHERE b.grp = c.grp AND b.name = c.name;
            IF c.settings <> '' THEN
                EXECUTE c.settings;
            END IF;
            IF settle IS NOT NULL THEN
                EXECUTE settle;
            END IF;
            cpu_start := cpu_ms();
            start := clock_timestamp();
            EXECUTE c.query INTO answer USING filter;
            ms := extract(epoch FROM clock_timestamp() - start)::float8 * 1000;
            cpu := cpu_ms() - cpu_start;
            IF c.settings <> '' THEN
                EXECUTE regexp_replace(c.settings, '^SET (\S+).*$', 'RESET \1');
            END IF;
            INSERT INTO bench_time VALUES (c.grp, c.name, run, ms, cpu, answer);
        END LOOP;
    END LOOP;
END $$;

-- ms, cpu_ms: medians; ns_each: CPU time if known; spread: slowest less fastest, as a share of the median.
CREATE VIEW bench_result AS
SELECT grp, ord, name, work, median AS ms, coalesce(median_cpu, median) * 1e6 / work AS ns_each,
       work / median / 1e3 AS millions_per_second, median_cpu AS cpu_ms, (slowest - fastest) / median AS spread, answer
FROM bench_case
JOIN (SELECT grp, name, percentile_cont(.5) WITHIN GROUP (ORDER BY ms) AS median,
             percentile_cont(.5) WITHIN GROUP (ORDER BY cpu_ms) AS median_cpu, min(ms) AS fastest,
             max(ms) AS slowest, min(answer) AS answer
      FROM bench_time WHERE run > 0 GROUP BY grp, name) t USING (grp, name);

CREATE FUNCTION ms(g text, n text) RETURNS float8 LANGUAGE sql STABLE AS
$$ SELECT ms FROM bench_result WHERE grp = g AND name = n $$;
CREATE FUNCTION cpu_ms(g text, n text) RETURNS float8 LANGUAGE sql STABLE AS
$$ SELECT cpu_ms FROM bench_result WHERE grp = g AND name = n $$;
CREATE FUNCTION ns_each(g text, n text) RETURNS float8 LANGUAGE sql STABLE AS
$$ SELECT ns_each FROM bench_result WHERE grp = g AND name = n $$;

-- Makes the indexes named the only ones of the table that are used and maintained.
CREATE PROCEDURE use_index(tab regclass, VARIADIC names text[]) LANGUAGE sql AS $$
    UPDATE pg_index SET indisvalid = relname = ANY(names), indisready = relname = ANY(names)
    FROM pg_class c WHERE c.oid = indexrelid AND indrelid = tab
$$;

-- Time, time on a CPU and (as the answer) bytes of WAL of a command.
CREATE PROCEDURE timed(g text, n text, run int, command text) LANGUAGE plpgsql AS $$
DECLARE
    lsn pg_lsn = pg_current_wal_insert_lsn();
    cpu float8 = cpu_ms();
    start timestamptz = clock_timestamp();
    ms float8;
BEGIN
    EXECUTE command;
    ms := extract(epoch FROM clock_timestamp() - start)::float8 * 1000;
    cpu := cpu_ms() - cpu;
    INSERT INTO bench_time VALUES (g, n, run, ms, cpu, pg_current_wal_insert_lsn() - lsn);
END $$;

-- Whether this machine can run an instruction set.
LOAD 'pbf';
CREATE FUNCTION can_simd(name text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('pbf.simd', name, true);
    PERFORM set_config('pbf.simd', 'auto', true);
    RETURN true;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

-- Pages that a query reads, all of them from shared memory once it is warm.
CREATE FUNCTION pages_of(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    plan json;
BEGIN
    FOR i IN 1..2 LOOP
        EXECUTE 'EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    END LOOP;
    RETURN (plan->0->'Plan'->>'Shared Hit Blocks')::int + (plan->0->'Plan'->>'Shared Read Blocks')::int;
END $$;

-- The lines of the plan of a case that say what matters, shortened, in one.
CREATE FUNCTION plan_of(g text, n text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    c bench_case;
    line text;
    lines text[] = '{}';
BEGIN
    SELECT * INTO c FROM bench_case WHERE grp = g AND name = n;
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || c.query USING c.argument LOOP
        line := regexp_replace(left(line, 60), '(\\x[0-9a-f]{8}).*', '\1...');
        lines := lines || trim(line, ' ->');
    END LOOP;
    RETURN array_to_string(lines, ' / ');
END $$;

-- Whether the hash tables of a query all fit into memory: the largest number of batches.
CREATE FUNCTION hash_batches(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    line text;
    batches int = 0;
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF) ' || query LOOP
        batches := greatest(batches, substring(line FROM 'Batches: (\d+)')::int);
    END LOOP;
    RETURN batches;
END $$;

-- ---- markdown ----

CREATE FUNCTION md(VARIADIC cells text[]) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT '| ' || array_to_string(cells, ' | ', '-') || ' |' $$;
-- A heading with the first column to the left, the others to the right.
CREATE FUNCTION md_head(VARIADIC cells text[]) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT md(VARIADIC cells) || E'\n| --- |' || repeat(' ---: |', cardinality(cells) - 1) $$;

-- Three significant digits.
CREATE FUNCTION num(float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN $1 = 0 THEN '0'
                WHEN abs($1) >= 100 THEN trim(to_char($1, '999,999,999,990'))
                WHEN abs($1) >= 0.001 THEN round($1::numeric, greatest(0, 2 - floor(log(abs($1)))::int))::text
                ELSE to_char($1, '9.99EEEE') END $$;
CREATE FUNCTION num(bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT trim(to_char($1, '999,999,999,999,990')) $$;
CREATE FUNCTION pct(float8) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT num($1 * 100) || ' %' $$;
CREATE FUNCTION code(text) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT '`' || replace($1, '|', '\|') || '`' $$;
