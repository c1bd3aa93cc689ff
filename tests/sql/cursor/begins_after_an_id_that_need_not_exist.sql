SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM unnest('{a,b,d}'::text[]) AS i (id);
END
$$;

SELECT is(ARRAY(SELECT id FROM harel_list(p_cursor => harel_cursor('a'))), '{b,d}', 'after one that there is');
SELECT is(ARRAY(SELECT id FROM harel_list(p_cursor => harel_cursor('c'))), '{d}', 'after one that there is not');
SELECT is(
    harel_cursor('a'), (SELECT DISTINCT next_cursor FROM harel_list(p_limit => 1)), 'it is that of harel_list() itself'
);
SELECT throws_ok('SELECT harel_cursor(NULL)', 'ST001', NULL, 'NULL is no id');

SELECT * FROM finish();
