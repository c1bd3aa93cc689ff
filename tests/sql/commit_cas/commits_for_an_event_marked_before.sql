SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"n": 1}', 0, 'ev');
    UPDATE processed_events SET processed_at = 'epoch';
END
$$;

SELECT is(harel_commit_cas('e', 'd', '{"n": 2}', 1, 'ev'), true, 'an event marked before is no conflict');
SELECT is(harel_load('e'), '{"n": 2}', 'the data is written');
SELECT is(
    ARRAY(SELECT processed_at FROM processed_events), ARRAY['epoch'::timestamptz], 'and the mark stays as it was'
);

SELECT * FROM finish();
