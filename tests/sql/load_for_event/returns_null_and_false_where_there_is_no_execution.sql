SELECT plan(3);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0, 'ev');
    DELETE FROM executions;
END
$$;

SELECT results_eq(
    $$SELECT * FROM harel_load_for_event('e', 'ev')$$, $$VALUES (NULL::text, false, NULL::integer)$$,
    'one row, also where a mark of it is left'
);
SELECT results_eq(
    $$SELECT * FROM harel_load_for_event('never', 'ev')$$, $$VALUES (NULL::text, false, NULL::integer)$$, 'an unknown id'
);
SELECT results_eq(
    $$SELECT * FROM harel_load_for_event(NULL, 'ev')$$, $$VALUES (NULL::text, false, NULL::integer)$$, 'a NULL id'
);

SELECT * FROM finish();
