--
-- Builds of test/bench/index.sh: run 1 builds on v what VACUUM is measured with, run 2, the last, the indexes of t that stay.
--
\o /dev/null
\if :short
\else
CREATE INDEX v_first ON v (id) WHERE false;
\endif

CREATE PROCEDURE build_all(run int) LANGUAGE plpgsql AS $$
DECLARE
    p peer;
    target text = CASE WHEN run = 1 THEN 'v' ELSE 't' END;
BEGIN
    FOR p IN SELECT * FROM peer ORDER BY CASE WHEN run % 2 = 0 THEN ord ELSE -ord END LOOP
        CONTINUE WHEN p.runs = 1 AND run <> 2;
        CALL timed('build', p.name, run, format(p.ddl, target || '_' || p.name, target));
        IF run = 2 THEN
            INSERT INTO index_size VALUES (p.name, pg_relation_size('t_' || p.name));
        ELSIF run = 3 OR NOT p.in_vacuum THEN
            EXECUTE format('DROP INDEX %I', target || '_' || p.name);
        END IF;
        COMMIT;
    END LOOP;
END $$;

-- Serial builds and ones with two workers in turn, so that a drift hits both alike.
CREATE PROCEDURE build_in_turn() LANGUAGE plpgsql AS $$
DECLARE
    p peer;
BEGIN
    FOR p IN SELECT * FROM peer WHERE turns > 0 ORDER BY ord LOOP
        FOR i IN 0 .. 2 * p.turns - 1 LOOP
            PERFORM set_config('max_parallel_maintenance_workers', CASE WHEN i % 4 IN (0, 3) THEN '0' ELSE '2' END, false);
            CALL timed(CASE WHEN i % 4 IN (0, 3) THEN 'serial' ELSE 'parallel' END, p.name, i, format(p.ddl, 'dropped', 't'));
            DROP INDEX dropped;
            COMMIT;
        END LOOP;
    END LOOP;
    RESET max_parallel_maintenance_workers;
END $$;

\if :short
CALL build_all(2);
\else
CALL build_all(1);
CALL build_all(3);
-- What is still on its way to the disk would take a processor from the workers.
CHECKPOINT;
\! sync
ALTER TABLE t SET (parallel_workers = 2);
CALL build_in_turn();
ALTER TABLE t RESET (parallel_workers);
CALL build_all(2);
\endif
VACUUM (ANALYZE) t;
CREATE TABLE stats_at_build AS SELECT * FROM pbfidx_stats('t_pbfidx');
