SELECT plan(5);

SELECT is(harel_commit_cas(repeat('i', 1000), repeat('d', 1000), '{}', 0, repeat('e', 1000)), true, '1000 bytes commit');
SELECT is(harel_load(repeat('i', 1000)), '{}', 'and are found');
SELECT is(harel_is_processed(repeat('i', 1000), repeat('e', 1000)), true, 'and so is the event');
SELECT is(harel_commit_cas(repeat('é', 500), 'd', '{}', 0), true, '500 characters of two bytes commit');
SELECT throws_ok(
    $$SELECT harel_commit_cas(repeat('é', 500) || 'x', 'd', '{}', 0)$$, 'ST001', NULL, 'one byte more is refused'
);

SELECT * FROM finish();
