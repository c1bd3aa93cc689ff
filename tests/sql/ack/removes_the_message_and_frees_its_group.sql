SELECT plan(7);

DO $$ BEGIN PERFORM harel_publish('g', 'a', 3, 1), harel_publish('g', 'b', 3, 1); END $$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_claim('w', 10, p_now => 2);

SELECT is(harel_ack('g', (SELECT token FROM lease), 5), true, 'it says so');
SELECT is((SELECT array_agg(event) FROM transport_messages), '{b}', 'the message is gone');
SELECT is((SELECT head FROM transport_groups), (SELECT seq + 1 FROM lease), 'the next one is the first');
SELECT results_eq(
    'SELECT available_at, token, worker, attempts FROM transport_groups',
    'VALUES (5::double precision, NULL::uuid, NULL::text, 0)', 'which nobody has leased, and which waits since then'
);
SELECT is_empty('SELECT * FROM harel_claim($$w$$, 10, p_now => 4.999)', 'not since earlier');
SELECT is((SELECT event FROM harel_claim('w', 10, p_now => 5)), 'b', 'it can be claimed');
SELECT is_empty('SELECT * FROM dead_letters', 'nothing has become a dead letter');

SELECT * FROM finish();
