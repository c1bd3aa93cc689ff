SELECT plan(4);

DO $$ BEGIN PERFORM harel_commit_cas('e', 'd', '{}', 0); END $$;

SELECT throws_ok($$SELECT harel_send(NULL, 'ev')$$, 'ST001', NULL, 'a NULL execution');
SELECT throws_ok($$SELECT harel_send('e', NULL)$$, 'ST003', NULL, 'a NULL event');
SELECT throws_ok($$SELECT harel_send('e', 'ev', 'NaN')$$, 'ST006', NULL, 'a time that is none');
SELECT is_empty('SELECT * FROM transport_messages', 'nothing is published');

SELECT * FROM finish();
