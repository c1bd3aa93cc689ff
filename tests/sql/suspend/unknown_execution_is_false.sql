SELECT plan(3);

DO $$ BEGIN PERFORM harel_publish('unknown', 'ev', p_now => 100); END $$;

SELECT is(harel_suspend('unknown'), false, 'there is nothing to suspend');
SELECT is((SELECT available_at FROM transport_groups), 100::float8, 'and its messages are not parked');
SELECT throws_ok('SELECT harel_suspend(NULL)', 'ST001', NULL, 'NULL is refused');

SELECT * FROM finish();
