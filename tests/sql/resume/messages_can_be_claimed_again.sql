SELECT plan(4);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{"status": "RUNNING"}', 0);
    PERFORM harel_publish('e', 'ev' || n) FROM generate_series(1, 2) n;
    PERFORM harel_suspend('e');
END
$$;

SELECT is_empty($$SELECT * FROM harel_next('w', 30)$$, 'not while it is suspended');
SELECT is(harel_resume('e'), true, 'once it is resumed');
SELECT is(
    (SELECT concat_ws(' ', event, attempts, status, version) FROM harel_next('w', 30)), 'ev1 1 RUNNING 3',
    'the first comes at once'
);
SELECT is(ARRAY(SELECT event FROM transport_messages ORDER BY seq), '{ev1,ev2}', 'and the other waits behind it');

SELECT * FROM finish();
