SELECT plan(8);

DO $$ BEGIN PERFORM harel_commit_cas('l', 'd', '{"n": 1}', 0); END $$;
CREATE TEMP TABLE answer AS
SELECT * FROM harel_commit_batch(
    '{w1,l,w2}', '{d,d,d}', '{1,1,1}', '{0,9,0}', '{ev,ev,ev}',
    '{1,2,2,3}', '{x,x,x,x}', '{e1,lost,lost,e2}',
    '{1,2,3}', '{k,k,k}', '{p,p,p}', '{x1,lost,x2}',
    '{1,2,3}', '{schedule,schedule,schedule}', '{t,lost,t}', '{1,1,1}',
    '{s,lost,s}'
);

SELECT is(ARRAY(SELECT committed FROM answer), '{t,f,t}', 'the one in the middle loses');
SELECT is((SELECT outbox_seqs FROM answer WHERE id = 'l'), '{}', 'and has no seqs');
SELECT is(ARRAY(SELECT event FROM outbox ORDER BY source_id), '{e1,e2}', 'its events are not sent');
SELECT is(ARRAY(SELECT context FROM spawns ORDER BY parent_id), '{x1,x2}', 'its children not asked for');
SELECT is(ARRAY(SELECT path FROM timers), '{t,t}', 'its timers not armed');
SELECT is(ARRAY(SELECT entry FROM trace), '{s,s}', 'its step not traced');
SELECT is(ARRAY(SELECT execution_id FROM processed_events ORDER BY 1), '{w1,w2}', 'its event not marked');
SELECT is(harel_load('l'), '{"n": 1}', 'and its data stays');

SELECT * FROM finish();
