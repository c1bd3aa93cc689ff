SELECT plan(3);

DO $$ BEGIN PERFORM harel_commit_cas('e' || n, 'd', '{}', 0) FROM generate_series(1, 101) n; END $$;

SELECT is((SELECT count(*) FROM harel_list()), 100::bigint, 'by default');
SELECT is((SELECT count(*) FROM harel_list(p_limit => NULL)), 100::bigint, 'and for NULL');
SELECT is((SELECT count(next_cursor) FROM harel_list(p_limit => NULL)), 1::bigint, 'with a cursor to the rest');

SELECT * FROM finish();
