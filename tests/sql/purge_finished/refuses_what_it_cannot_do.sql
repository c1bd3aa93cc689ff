SELECT plan(9);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{"status": "DONE", "finished_at": 1}', 0); END $$;

SELECT throws_ok('SELECT harel_purge_finished(NULL)', 'ST011', NULL, 'no age');
SELECT throws_ok('SELECT harel_purge_finished(-1)', 'ST011', NULL, 'a negative one');
SELECT throws_ok($$SELECT harel_purge_finished('NaN')$$, 'ST011', NULL, 'one that is no number');
SELECT throws_ok('SELECT harel_purge_finished(0, -1)', 'ST008', NULL, 'a negative limit');
SELECT throws_ok(
    $$SELECT harel_purge_finished(0, p_archive => 'pg_catalog.length(text)')$$, 'ST013', NULL, 'an archive of other arguments'
);
SELECT throws_ok($$SELECT harel_purge_finished(0, p_archive => 'keep(')$$, 'ST013', NULL, 'one that is no name');
SELECT throws_ok($$SELECT harel_purge_finished(0, p_now => 'Infinity')$$, 'ST006', NULL, 'no time');
SELECT is(harel_purge_finished(1e300, p_now => -1e300), 0, 'nothing finished before all time');
SELECT is(ARRAY(SELECT id FROM executions), '{e}', 'nothing is removed');

SELECT * FROM finish();
