-- What test/bench/index.sh draws: MB, milliseconds of a look-up, name, on which side of the point the name goes.
SELECT bytes / 1048576.0, us / 1000, '"' || title || '"', CASE WHEN name IN ('hash', 'bloom32') THEN 'left' ELSE 'right' END
FROM peer JOIN index_size USING (name) JOIN look ON peer = name AND want = 'hit' ORDER BY ord;
