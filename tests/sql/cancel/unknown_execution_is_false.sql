SELECT plan(4);

INSERT INTO timers VALUES ('unknown', 'p', 100);
DO $$ BEGIN PERFORM harel_publish('unknown', 'ev', p_now => 100); END $$;

SELECT is(harel_cancel('unknown'), false, 'there is nothing to cancel');
SELECT is((SELECT count(*) FROM transport_messages), 1::bigint, 'its messages stay');
SELECT is((SELECT count(*) FROM timers), 1::bigint, 'and so do its timers');
SELECT throws_ok('SELECT harel_cancel(NULL)', 'ST001', NULL, 'NULL is refused');

SELECT * FROM finish();
