SELECT plan(2);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0, 'ev'); END $$;

SELECT results_eq(
    $$SELECT * FROM harel_load_for_event('e', NULL)$$, $$VALUES ('{}', false, 1)$$, 'a NULL event is false, not NULL'
);
SELECT results_eq($$SELECT * FROM harel_load_for_event('e', '')$$, $$VALUES ('{}', false, 1)$$, 'an empty event');

SELECT * FROM finish();
