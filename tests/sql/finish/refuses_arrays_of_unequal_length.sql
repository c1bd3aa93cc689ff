SELECT plan(7);

CREATE TEMP TABLE lease AS SELECT gen_random_uuid() AS token;

SELECT throws_ok(
    $$SELECT harel_finish('{a,b}', ARRAY[token], '{d,d}', '{1,1}', '{1,1}') FROM lease$$, 'ST004', NULL,
    'too few tokens'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d,d}', '{1}', '{1}') FROM lease$$, 'ST004', NULL,
    'too many definitions'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d}', '{}', '{1}') FROM lease$$, 'ST004', NULL, 'no data'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d}', '{1}', NULL) FROM lease$$, 'ST004', NULL, 'no versions'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d}', '{1}', '{1}', '{x,y}') FROM lease$$, 'ST004', NULL,
    'too many events'
);
SELECT throws_ok(
    $$SELECT harel_finish('{a}', ARRAY[token], '{d}', '{1}', '{1}', p_traces => '{x,y}') FROM lease$$, 'ST004', NULL,
    'too many traces'
);
SELECT throws_ok(
    $$SELECT harel_finish('{}', ARRAY[token], '{}', '{}', '{}') FROM lease$$, 'ST004', NULL, 'a token alone'
);

SELECT * FROM finish();
