SELECT plan(5);

DO $$
BEGIN
    PERFORM harel_commit_cas('e', 'd', '{}', 0);
    PERFORM harel_publish('e', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE first AS SELECT * FROM harel_next('w1', 30, p_now => 100);

SELECT is_empty($$SELECT * FROM harel_next('w2', 30, p_now => 129.9)$$, 'before it nobody else has the message');
CREATE TEMP TABLE second AS SELECT * FROM harel_next('w2', 30, p_now => 130);
SELECT is(
    (SELECT concat_ws(' ', event, deadline, attempts) FROM second), 'ev 160 2',
    'at it another has, as a second delivery'
);
SELECT isnt((SELECT token FROM second), (SELECT token FROM first), 'under a lease of its own');
SELECT is((SELECT harel_ack('e', token, 131) FROM first), false, 'the first lease is over');
SELECT is((SELECT harel_ack('e', token, 131) FROM second), true, 'the second holds');

SELECT * FROM finish();
