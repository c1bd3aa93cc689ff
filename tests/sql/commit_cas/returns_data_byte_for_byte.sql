SELECT plan(2);

CREATE TEMP TABLE sample (n integer, data text);
INSERT INTO sample VALUES
(1, '  {"b" :1,"a":  2}  '),
(2, E'{\n\t"a": [1,\r\n2]\n}\n'),
(3, '{"a":1.0,"b":1.50e+2,"c":-0,"d":100000000000000000000000000000001,"e":0.1000}'),
(4, '{"a":1,"a":2,"a":1}'),
(5, '{"a":"caf\u00e9 café \/ / \\ \" \b\f\n\r\t"}'),
(6, '{"a":"日本 𝄞 é e' || chr(769) || '"}'),
(7, '{"a":"' || repeat('x', 300000) || '"}'),
(8, '{}');
DO $$ BEGIN PERFORM harel_commit_cas('e' || n, 'd', data, 0) FROM sample; END $$;

SELECT is((SELECT count(*) FROM executions), 8::bigint, 'all are stored');
SELECT is_empty(
    'SELECT n, data, harel_load(''e'' || n) FROM sample WHERE harel_load(''e'' || n) IS DISTINCT FROM data COLLATE "C"',
    'blanks, order of keys, digits, duplicate keys, escapes and length come back as they were'
);

SELECT * FROM finish();
