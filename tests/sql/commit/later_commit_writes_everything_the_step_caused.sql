SELECT plan(5);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd:1', '{}', 0); END $$;
CREATE TEMP TABLE answer AS
SELECT * FROM harel_commit(
    'e', 'd:2', '{"status": "DONE"}', 1, 'ev', '{x}', '{hello}', '{c}', '{p}', '{ctx}', '{schedule}', '{a}', '{1}', 'step'
);

SELECT is((SELECT committed FROM answer), true, 'the version loaded commits');
SELECT is((SELECT stored_version FROM answer), 2, 'as the next version');
SELECT is((SELECT outbox_seqs FROM answer), ARRAY(SELECT seq FROM outbox), 'with the seq of its outbox row');
SELECT is(
    ARRAY(SELECT concat_ws(' ', definition_id, status, version, finished_at = now()) FROM executions), '{d:2 DONE 2 t}',
    'definition, status, version and end are written'
);
SELECT is(
    (SELECT ARRAY[count(*)] FROM spawns) || (SELECT count(*) FROM timers) || (SELECT count(*) FROM trace)
    || (SELECT count(*) FROM processed_events),
    '{1,1,1,1}', 'and a spawn, a timer, a trace entry and a mark'
);

SELECT * FROM finish();
