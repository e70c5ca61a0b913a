--
-- The tour that test/demo.sh gives. psql variable "words": the directory of the lists, one file each.
--
\set QUIET on
\pset footer off
\pset linestyle unicode
\pset border 1
\pset numericlocale on
\timing off
SET client_min_messages = warning;
-- For figures that can be compared: one process, no compilation.
SET max_parallel_workers_per_gather = 0;
SET jit = off;

CREATE EXTENSION pbf;

-- Stops the demo when something does not hold.
CREATE FUNCTION must(ok bool, what text) RETURNS bool LANGUAGE plpgsql AS $$
BEGIN
    IF ok IS NOT TRUE THEN
        RAISE EXCEPTION 'this must hold and does not: %', what;
    END IF;
    RETURN true;
END $$;

-- Milliseconds that a query takes: the median of three runs.
CREATE FUNCTION ms(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    t timestamptz;
    x bigint;
    times float8[] = '{}';
BEGIN
    FOR i IN 1..3 LOOP
        t := clock_timestamp();
        EXECUTE query INTO x;
        times := times || extract(epoch FROM clock_timestamp() - t)::float8 * 1000;
    END LOOP;
    RETURN (SELECT percentile_disc(.5) WITHIN GROUP (ORDER BY u) FROM unnest(times) u);
END $$;

CREATE FUNCTION count_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    x bigint;
BEGIN
    EXECUTE query INTO x;
    RETURN x;
END $$;

-- For print: kilobytes, and percent with three significant digits.
CREATE FUNCTION kb(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$ SELECT ($1 + 1023) / 1024 $$;
CREATE FUNCTION pct(float8) RETURNS numeric LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN $1 = 0 THEN 0 ELSE trim_scale(round($1::numeric * 100, 2 - floor(log($1 * 100))::int)) END
$$;

CREATE TABLE word (list text NOT NULL, word text COLLATE "C" NOT NULL) PARTITION BY LIST (list);
CREATE TABLE word_american PARTITION OF word FOR VALUES IN ('american');
CREATE TABLE word_british PARTITION OF word FOR VALUES IN ('british');
CREATE TABLE word_french PARTITION OF word FOR VALUES IN ('french');
CREATE TABLE word_german PARTITION OF word FOR VALUES IN ('german');
CREATE TABLE word_passwords PARTITION OF word FOR VALUES IN ('passwords');

CREATE PROCEDURE load_list(list text, file text) LANGUAGE plpgsql AS $$
BEGIN
    CREATE TEMP TABLE line (word text);
    EXECUTE format($c$ COPY line FROM %L (FORMAT csv, DELIMITER E'\x01', QUOTE E'\x02') $c$, file);
    INSERT INTO word SELECT list, word FROM line;
    DROP TABLE line;
END $$;

CALL load_list('american', :'words' || '/american');
CALL load_list('british', :'words' || '/british');
CALL load_list('french', :'words' || '/french');
CALL load_list('german', :'words' || '/german');
CALL load_list('passwords', :'words' || '/passwords');
CREATE INDEX ON word (word);
VACUUM ANALYZE word;

-- Words that are in no list for certain.
CREATE TABLE stranger AS
    SELECT w || '~' || i AS word FROM (SELECT DISTINCT word AS w FROM word WHERE list IN ('american', 'french')) x, generate_series(1, 2) i
    WHERE NOT EXISTS (SELECT FROM word WHERE word.word = w || '~' || i)
    LIMIT 1000000;
VACUUM ANALYZE stranger;
SELECT count(*) AS strangers, to_char(count(*), 'FM9,999,999') AS strangers_text FROM stranger \gset

\echo
\echo '1. One filter per list'
\echo '   CREATE TABLE filter AS SELECT list, pbf_agg(word) AS f FROM word GROUP BY list;'
\echo '   Sizes: the table, a btree index on its words, a filter that errs in 1 % of the cases and one in 0.01 %.'
\echo

CREATE TABLE filter AS
    SELECT list, count(*) AS words, pbf_agg(word) AS f FROM word GROUP BY list;
CREATE TABLE fine AS
    SELECT list, pbf_agg(word, (SELECT words FROM filter WHERE filter.list = word.list), 0.0001) AS f FROM word GROUP BY list;

SELECT list, words, kb(pg_table_size(('word_' || list)::regclass)) AS "table, kB",
       kb(pg_relation_size(('word_' || list || '_word_idx')::regclass)) AS "index, kB",
       kb((pbf_info(filter.f)).bytes) AS "filter 1 %, kB", kb((pbf_info(fine.f)).bytes) AS "0.01 %, kB",
       round(8.0 * (pbf_info(filter.f)).bytes / words, 1) AS "1 %, bits/word",
       round(8.0 * (pbf_info(fine.f)).bytes / words, 1) AS "0.01 %, bits/word"
FROM filter JOIN fine USING (list) ORDER BY list;

\echo '2. No word is ever forgotten, and errors are as rare as promised'
\echo '   Measured with all words of the list and with' :strangers_text 'words that are in no list.'
\echo

CREATE TABLE result AS
    SELECT list, asked, (SELECT count(*) FROM word w WHERE w.list = x.list AND NOT f @> w.word) AS lost,
           pbf_fpr(f) AS predicted, (SELECT count(*) FROM stranger s WHERE f @> s.word) AS hits
    FROM (SELECT list, 0.01::float8 AS asked, f FROM filter UNION ALL SELECT list, 0.0001, f FROM fine) x;
SELECT list, pct(asked) AS "asked, %", pct(predicted) AS "predicted, %", pct(hits::float8 / :strangers) AS "measured, %",
       hits AS "wrong yes", lost AS "wrong no"
FROM result ORDER BY asked DESC, list;

SELECT must(bool_and(lost = 0), 'no filter forgets a word'),
       must(bool_and(predicted <= asked * 1.25), 'the promised rate is kept'),
       must(bool_and(abs(hits - predicted * :strangers) <= 5 * sqrt(predicted * :strangers) + .05 * predicted * :strangers),
            'the measured rate is the predicted one')
FROM result \g /dev/null

\echo '3. Union, overlap, similarity: from the filters alone'
\echo '   SELECT pbf_cardinality(a.f | b.f), pbf_intersection_cardinality(a.f, b.f), pbf_jaccard(a.f, b.f) ...'
\echo

CREATE TABLE same AS SELECT list, pbf_agg(word, 700000, 0.01) AS f FROM word GROUP BY list;
CREATE TABLE pair AS
    SELECT a.list AS a, b.list AS b,
           (SELECT count(*) FROM word x JOIN word y USING (word) WHERE x.list = a.list AND y.list = b.list) AS both,
           (SELECT count(DISTINCT word) FROM word x WHERE x.list IN (a.list, b.list)) AS either,
           pbf_intersection_cardinality(a.f, b.f) AS both_est, pbf_cardinality(a.f | b.f) AS either_est,
           pbf_jaccard(a.f, b.f) AS jaccard_est, a.f && b.f AS overlap
    FROM same a JOIN same b ON a.list < b.list;
SELECT a || ' - ' || b AS lists, either AS union, either_est::bigint AS estimated,
       "both" AS intersection, both_est::bigint AS "estimated ",
       round("both"::numeric / either, 4) AS jaccard, round(jaccard_est::numeric, 4) AS "estimated  "
FROM pair ORDER BY "both"::float8 / either DESC, a, b;

SELECT must(bool_and(abs(either_est - either) < .01 * either), 'the size of a union is within 1 %'),
       must(bool_and(abs(both_est - "both") < .01 * either), 'the size of an intersection is within 1 % of the union'),
       must(bool_and(overlap), 'lists that share a word are never called disjoint')
FROM pair \g /dev/null

SELECT count(DISTINCT word) AS "words in all lists",
       (SELECT pbf_cardinality(pbf_union_agg(f))::bigint FROM same) AS "estimated from the united filters",
       (SELECT count(*) FROM word, (SELECT pbf_union_agg(f) AS f FROM filter) u WHERE NOT u.f @> word) AS "lost in a union of five sizes"
FROM word;
SELECT must(count(*) = 0, 'a union of filters of different sizes forgets no word')
FROM word, (SELECT pbf_union_agg(f) AS f FROM filter) u WHERE NOT u.f @> word \g /dev/null

\echo '4. Certainly disjoint: passwords that begin with 0 to m against those with n to z'
\echo '   a !&& b is a proof, a && b is not. With room enough the filters can prove it; a shared word always shows.'
\echo

CREATE TABLE half AS
    SELECT bits, count(*) FILTER (WHERE word < 'n') AS n,
           pbf_agg_like(word, empty) FILTER (WHERE word < 'n') AS a,
           pbf_agg_like(word, empty) FILTER (WHERE word >= 'n') AS b,
           pbf_agg_like(word, empty) FILTER (WHERE word >= 'n' OR word = (SELECT min(word) FROM word_passwords)) AS c
    FROM word_passwords,
         (SELECT bits, pbf_new_geometry((27000 * bits / 512)::int, 8, 64) AS empty FROM unnest('{10,32,64,128,256}'::int[]) bits) g
    GROUP BY bits;
SELECT bits AS "bits/word", kb((pbf_info(a)).bytes) AS "each filter, kB",
       CASE WHEN a !&& b THEN 'proven' ELSE 'not proven' END AS "disjoint?",
       CASE WHEN a !&& c THEN 'proven' ELSE 'not proven' END AS "with one word in common"
FROM half ORDER BY bits;
SELECT must(bool_and(a && c), 'filters that share a word are never called disjoint'),
       must(bool_or(a !&& b), 'disjointness is proven with room enough')
FROM half \g /dev/null

\echo '5. Smaller for shipping, from the filter alone: no word is read again'
\echo '   "full": the american list at 0.01 %. "roomy": the same words where 5 million were expected.'
\echo

CREATE TABLE ship AS
    WITH full_ AS MATERIALIZED (SELECT f FROM fine WHERE list = 'american'),
         roomy AS MATERIALIZED (SELECT pbf_agg(word, 5e6, 0.01) AS f FROM word_american)
    SELECT 1 AS nr, 'full' AS filter, 'as built' AS move, f FROM full_
    UNION ALL SELECT 2, 'full', 'f -> 6', f -> 6 FROM full_
    UNION ALL SELECT 3, 'full', 'f -> 4', f -> 4 FROM full_
    UNION ALL SELECT 4, 'full', 'pbf_shrink_to_fpr(f, 0.01)', pbf_shrink_to_fpr(f, 0.01) FROM full_
    UNION ALL SELECT 5, 'full', 'pbf_shrink(f, 500000)', pbf_shrink(f, 500000) FROM full_
    UNION ALL SELECT 6, 'roomy', 'as built', f FROM roomy
    UNION ALL SELECT 7, 'roomy', 'pbf_reduce(f, 4)', pbf_reduce(f, 4) FROM roomy
    UNION ALL SELECT 8, 'roomy', 'pbf_fold(f)', pbf_fold(f) FROM roomy
    UNION ALL SELECT 9, 'roomy', 'pbf_fold(f, 2)', pbf_fold(f, 2) FROM roomy
    UNION ALL SELECT 10, 'roomy', 'pbf_shrink_to_fpr(f, 0.02)', pbf_shrink_to_fpr(f, 0.02) FROM roomy
    UNION ALL SELECT 11, 'roomy', 'pbf_shrink(f, 500000)', pbf_shrink(f, 500000) FROM roomy;
CREATE TABLE shipped AS
    SELECT nr, filter, move, i.*, (SELECT count(*) FROM stranger s WHERE f @> s.word) AS hits,
           (SELECT count(*) FROM word_american w WHERE NOT f @> w.word) AS lost
    FROM ship, pbf_info(f) i;
SELECT filter, move, parts, kb(bytes) AS "kB", pct(fill) AS "fill, %", pct(fpr) AS "predicted, %",
       pct(hits::float8 / :strangers) AS "measured, %", lost
FROM shipped ORDER BY nr;
SELECT must(bool_and(lost = 0), 'a smaller filter forgets no word'),
       must(bool_and(bytes <= 500000) FILTER (WHERE move ~ '500000'), 'pbf_shrink keeps to the size'),
       must(bool_and(fpr <= 0.02) FILTER (WHERE move ~ '0.02'), 'pbf_shrink_to_fpr keeps to the rate'),
       must(bool_and(fpr <= 0.01) FILTER (WHERE move ~ '0.01'), 'pbf_shrink_to_fpr keeps to the rate'),
       must(bool_and(abs(hits - fpr * :strangers) <= 5 * sqrt(fpr * :strangers) + .05 * fpr * :strangers),
            'the measured rate is the predicted one')
FROM shipped \g /dev/null

CREATE TABLE candidate AS
    SELECT w AS word
    FROM (SELECT word || i AS w FROM word, generate_series(1, 4) i WHERE list IN ('french', 'german')
          UNION ALL
          SELECT word FROM word_american TABLESAMPLE BERNOULLI (5) REPEATABLE (1)) x
    ORDER BY hashtext(w);
VACUUM ANALYZE candidate;
SELECT to_char(count(*), 'FM9,999,999') AS candidates FROM candidate \gset

\echo '6. A filter in front of a semi-join: which of' :candidates 'candidates are in the american list?'

\set without 'SELECT count(*) FROM candidate c WHERE c.word IN (SELECT word FROM word_american)'
\set with 'SELECT count(*) FROM candidate c WHERE c.word IN (SELECT word FROM word_american) AND (SELECT f FROM filter WHERE list = ''american'') @> c.word'
\set only 'SELECT count(*) FROM candidate c WHERE (SELECT f FROM filter WHERE list = ''american'') @> c.word'
\set scan 'SELECT count(*) FROM candidate c WHERE c.word <> '''''

\echo '   SELECT count(*) FROM candidate c WHERE c.word IN (SELECT word FROM word_american)'
\echo '      AND (SELECT f FROM filter WHERE list = ''american'') @> c.word;'
\echo
SET work_mem = '4MB';
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) :with;

CREATE TABLE timing (nr int, query text, small int, large int, answer bigint);
INSERT INTO timing VALUES (1, 'the table read once, nothing looked up', ms(:'scan'), NULL, count_of(:'scan')),
    (2, 'semi-join', ms(:'without'), NULL, count_of(:'without')),
    (3, 'semi-join behind the filter', ms(:'with'), NULL, count_of(:'with')),
    (4, 'the filter alone: approximate', ms(:'only'), NULL, count_of(:'only'));
SET work_mem = '256MB';
UPDATE timing SET large = ms(CASE nr WHEN 1 THEN :'scan' WHEN 2 THEN :'without' WHEN 3 THEN :'with' ELSE :'only' END);
SELECT query, answer AS found, small AS "ms, work_mem 4 MB", large AS "ms, work_mem 256 MB" FROM timing ORDER BY nr;
SELECT must((SELECT answer FROM timing WHERE nr = 2) = (SELECT answer FROM timing WHERE nr = 3), 'the filter changes no answer'),
       must((SELECT answer FROM timing WHERE nr = 4) >= (SELECT answer FROM timing WHERE nr = 2), 'the filter forgets no word') \g /dev/null

RESET work_mem;

\echo '7. An index: 1,500,000 events of 200,000 users, each with an address made of two words'
\echo '   CREATE INDEX event_pbf ON event USING pbfidx (id, user_id, email);'
\echo '   The others: a btree on each column; a BRIN bloom on each column, as it comes and tuned by hand; contrib/bloom on'
\echo '   all columns, over hashes, since it knows no uuid and no bigint. In one process; sequential scans are forbidden to'
\echo '   BRIN and contrib/bloom. Look-ups: milliseconds in the executor, median of seven; "missing" is an address of nobody.'
\echo

CREATE TABLE person AS
    SELECT row_number() OVER (ORDER BY md5(a.word)) AS user_id,
           lower(a.word || '.' || b.word) || '@example.' || (ARRAY['org', 'com', 'net'])[1 + abs(hashtext(a.word)) % 3] AS email
    FROM (SELECT word, row_number() OVER (ORDER BY md5(word)) AS n FROM word_french ORDER BY n LIMIT 200000) a
    JOIN (SELECT word, row_number() OVER (ORDER BY md5(word)) AS n FROM word_german ORDER BY n LIMIT 200000) b USING (n);
CREATE TABLE event (id uuid, user_id bigint, email text COLLATE "C", at timestamptz, note text);
CREATE PROCEDURE add_events(first int, last int) LANGUAGE sql AS $$
    INSERT INTO event
    SELECT md5(i::text)::uuid, user_id, email, timestamptz '2024-01-01' + i * interval '20 s', 'event ' || i
    FROM generate_series(first, last) i JOIN person ON user_id = 1 + abs(hashtext(i::text)) % 200000
    ORDER BY i;
$$;
CALL add_events(1, 1500000);
VACUUM ANALYZE event;

-- Every look-up, and how contrib/bloom has to be asked for it.
CREATE TABLE asked AS
    SELECT md5(i::text)::uuid AS id, 'nobody' || i AS nobody, user_id, email
    FROM generate_series(1000, 1500000, 240000) i JOIN person ON user_id = 1 + abs(hashtext(i::text)) % 200000;
CREATE TABLE lookup AS
    SELECT 'id' AS what, format('id = %L', id) AS usual, format('uuid_hash(id) = uuid_hash(%L) AND id = %1$L', id) AS hashed FROM asked
    UNION ALL SELECT 'email', format('email = %L', email), format('email = %L', email) FROM asked
    UNION ALL SELECT 'two', format('email = %L AND user_id = %s', email, user_id),
                     format('email = %L AND user_id = %s AND hashint8(user_id) = hashint8(%2$s)', email, user_id) FROM asked
    UNION ALL SELECT 'missing', format('email = %L', nobody), format('email = %L', nobody) FROM asked;

-- What EXPLAIN ANALYZE says of a look-up: milliseconds in the executor, rows, and the indexes that it used.
CREATE FUNCTION look_up(condition text, OUT ms float8, OUT n bigint, OUT indexes text) LANGUAGE plpgsql AS $$
DECLARE
    j jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM event WHERE ' || condition INTO j;
    ms := (j->0->>'Execution Time')::float8;
    n := (j->0->'Plan'->>'Actual Rows')::float8;
    indexes := (SELECT string_agg(DISTINCT m[1], ' ') FROM regexp_matches(j::text, '"Index Name": "(\w+)"', 'g') m);
END $$;

CREATE TABLE peer (nr int, name text, kb bigint, build int, what text, ms float8, n bigint, indexes text);

-- Builds the indexes of one kind, looks up with them, drops them.
CREATE PROCEDURE measure(nr int, name text, hashed bool, forced bool, VARIADIC statements text[]) LANGUAGE plpgsql AS $$
DECLARE
    t timestamptz := clock_timestamp();
    s text;
    took float8;
BEGIN
    FOREACH s IN ARRAY statements LOOP
        EXECUTE s;
    END LOOP;
    took := extract(epoch FROM clock_timestamp() - t) * 1000;
    PERFORM set_config('enable_seqscan', CASE WHEN forced THEN 'off' ELSE 'on' END, false);
    INSERT INTO peer
        SELECT measure.nr, measure.name,
               (SELECT sum(kb(pg_relation_size(indexrelid))) FROM pg_index WHERE indrelid = 'event'::regclass),
               took, what, (look_up(CASE WHEN measure.hashed THEN lookup.hashed ELSE usual END)).*
        FROM lookup;
    PERFORM set_config('enable_seqscan', 'on', false);
    FOR s IN SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid = 'event'::regclass LOOP
        EXECUTE 'DROP INDEX ' || s;
    END LOOP;
END $$;

SET max_parallel_maintenance_workers = 0;
CREATE EXTENSION bloom;
CALL measure(1, 'no index', false, false, 'SELECT');
CALL measure(2, 'btree, three', false, false, 'CREATE INDEX event_btree_id ON event (id)',
    'CREATE INDEX event_btree_user ON event (user_id)', 'CREATE INDEX event_btree_email ON event (email)');
CALL measure(3, 'BRIN bloom, three', false, true, 'CREATE INDEX event_brin_id ON event USING brin (id uuid_bloom_ops)',
    'CREATE INDEX event_brin_user ON event USING brin (user_id int8_bloom_ops)',
    'CREATE INDEX event_brin_email ON event USING brin (email text_bloom_ops)');
\set tuned '(n_distinct_per_range = 2400, false_positive_rate = 0.0001)) WITH (pages_per_range = 32)'
SELECT 'CREATE INDEX event_brin_id ON event USING brin (id uuid_bloom_ops ' || :'tuned' AS tuned_id,
       'CREATE INDEX event_brin_user ON event USING brin (user_id int8_bloom_ops ' || :'tuned' AS tuned_user,
       'CREATE INDEX event_brin_email ON event USING brin (email text_bloom_ops ' || :'tuned' AS tuned_email \gset
CALL measure(4, 'BRIN bloom, three, tuned', false, true, :'tuned_id', :'tuned_user', :'tuned_email');
CALL measure(5, 'contrib/bloom, one', true, true,
    'CREATE INDEX event_bloom ON event USING bloom (uuid_hash(id), hashint8(user_id), email) WITH (length = 96)');
CALL measure(6, 'pbfidx, one', false, false, 'CREATE INDEX event_pbf ON event USING pbfidx (id, user_id, email)');

CREATE FUNCTION median(what text, peer_nr int) RETURNS numeric LANGUAGE sql AS $$
    SELECT CASE WHEN m < 1 THEN round(m::numeric, 3) WHEN m < 10 THEN round(m::numeric, 1) ELSE round(m::numeric) END
    FROM (SELECT percentile_disc(.5) WITHIN GROUP (ORDER BY ms) AS m FROM peer WHERE peer.what = $1 AND nr = $2) x
$$;
SELECT name AS index, kb AS "kB", CASE WHEN nr > 1 THEN build END AS "build, ms", median('id', nr) AS "id", median('email', nr) AS email,
       median('two', nr) AS "email and user_id", median('missing', nr) AS missing
FROM peer GROUP BY nr, name, kb, build ORDER BY nr;
SELECT must(count(DISTINCT answers) = 1, 'every index gives the answers of the sequential scan')
FROM (SELECT nr, array_agg(n ORDER BY what, rank) AS answers
      FROM (SELECT *, row_number() OVER (PARTITION BY nr, what ORDER BY n) AS rank FROM peer) x GROUP BY nr) y \g /dev/null
SELECT must(bool_and(indexes ~ 'event_pbf'), 'the planner takes pbfidx for each of these look-ups'),
       must(max(kb) * 3 < (SELECT max(kb) FROM peer WHERE nr = 2), 'pbfidx is less than a third of the btrees')
FROM peer WHERE nr = 6 \g /dev/null

\echo '8. The index while the table changes: 300,000 more events, 100,000 deleted, 100,000 given to another user, VACUUM'
\echo

CREATE INDEX event_pbf ON event USING pbfidx (id, user_id, email);
CREATE FUNCTION state(what text, OUT step text, OUT "heap pages" bigint, OUT slabs bigint, OUT "kB" bigint, OUT "bits/key" numeric,
                      OUT overfull bigint, OUT "false pages a look-up" numeric) LANGUAGE sql AS $$
    SELECT what, heap_pages, leaf_slabs + upper_slabs, index_pages * 8, round(bits_per_key::numeric, 1), overfull_slabs,
           round(est_false_pages::numeric, 2)
    FROM pbfidx_stats('event_pbf')
$$;
CREATE TABLE history AS SELECT 1 AS nr, (state('built')).*;
CALL add_events(1500001, 1800000);
INSERT INTO history SELECT 2, (state('inserted')).*;
DELETE FROM event WHERE at < timestamptz '2024-01-01' + 100000 * interval '20 s';
UPDATE event SET user_id = p.user_id, email = p.email FROM person p
WHERE at < timestamptz '2024-01-01' + 200000 * interval '20 s' AND p.user_id = 200001 - event.user_id;
INSERT INTO history SELECT 3, (state('deleted and updated')).*;
VACUUM ANALYZE event;
INSERT INTO history SELECT 4, (state('after VACUUM')).*;
SELECT step, "heap pages", slabs, "kB", "bits/key", overfull, "false pages a look-up" FROM history ORDER BY nr;

-- 500 users one by one through the index, then all in one pass over the table.
CREATE TABLE sample_person AS SELECT * FROM person WHERE user_id % 400 = 7;
ANALYZE sample_person;
\set join 'SELECT count(*) AS events, sum(hashtext(e::text)) AS checksum FROM sample_person p JOIN event e ON e.user_id = p.user_id AND e.email = p.email'
SET enable_hashjoin = off; SET enable_mergejoin = off;
\echo '   500 users looked up one by one, compared below with one pass over the table:'
EXPLAIN (COSTS OFF) :join;
SELECT events, checksum FROM (:join) x \gset by_index_
RESET enable_hashjoin; RESET enable_mergejoin;
SET pbf.enable_index = off;
SELECT events, checksum FROM (:join) x \gset by_scan_
SELECT count(*) AS events, sum(hashtext(e::text)) AS checksum FROM event e WHERE id IN (SELECT md5(i::text)::uuid FROM generate_series(-99, 1800000, 9001) i) \gset in_scan_
RESET pbf.enable_index;
SELECT count(*) AS events, sum(hashtext(e::text)) AS checksum FROM event e WHERE id = ANY (ARRAY(SELECT md5(i::text)::uuid FROM generate_series(-99, 1800000, 9001) i)) \gset in_index_
\echo '   Events of these users:' :by_index_events 'by the index,' :by_scan_events 'by the sequential scan.'
SELECT must(:by_index_events = :by_scan_events AND :by_index_checksum = :by_scan_checksum, 'a join through the index gives the same rows'),
       must(:in_index_events = :in_scan_events AND :in_index_checksum = :in_scan_checksum, '= ANY through the index gives the same rows'),
       must(:by_index_events > 1000 AND :in_index_events > 100, 'there were rows to find') \g /dev/null
SELECT pbfidx_check('event_pbf') \g /dev/null
\echo '   pbfidx_check found every row in the index.'
\echo

\echo 'Everything held.'
