SELECT plan(3);

SELECT throws_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, '{""}', '{a}')$$, 'ST001', NULL, 'an empty target');
SELECT throws_ok(
    $$SELECT harel_commit('e', 'd', '{}', 0, NULL, ARRAY[repeat('x', 1001)], '{a}')$$, 'ST001', NULL, '1001 bytes'
);
SELECT lives_ok($$SELECT harel_commit('e', 'd', '{}', 0, NULL, ARRAY[repeat('x', 1000)], '{a}')$$, '1000 bytes are taken');

SELECT * FROM finish();
