--
-- Builds of test/bench/index.sh: run 1 builds on v what VACUUM is measured with, run 2, the last, the indexes of t that stay.
--
\o /dev/null
\if :short
\else
CREATE INDEX v_first ON v (id) WHERE false;
\endif

CREATE PROCEDURE build_all(run int, max_parallel int) LANGUAGE plpgsql AS $$
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
        IF p.parallel AND max_parallel > 0 AND (run = 2 OR run = 1 AND p.name = 'pbfidx') THEN
            FOR i IN 1..2 LOOP
                PERFORM set_config('max_parallel_maintenance_workers', max_parallel::text, false);
                CALL timed('parallel', p.name, run * 10 + i, format(p.ddl, 'dropped', target));
                RESET max_parallel_maintenance_workers;
                DROP INDEX dropped;
                COMMIT;
            END LOOP;
        END IF;
    END LOOP;
END $$;

ALTER TABLE t SET (parallel_workers = 2);
\if :short
CALL build_all(2, 0);
\else
ALTER TABLE v SET (parallel_workers = 2);
CALL build_all(1, 2);
CALL build_all(3, 2);
CALL build_all(2, 2);
ALTER TABLE v RESET (parallel_workers);
\endif
ALTER TABLE t RESET (parallel_workers);
VACUUM (ANALYZE) t;
CREATE TABLE stats_at_build AS SELECT * FROM pbfidx_stats('t_pbfidx');
