SELECT plan(2);

CREATE TEMP TABLE sample (n integer, content text);
INSERT INTO sample VALUES
(1, '  {"b" :1,"a":  2}  '),
(2, E'{\n\t"a": [1,\r\n2]\n}\n'),
(3, '{"a":1.0,"b":1.50e+2,"c":-0,"d":100000000000000000000000000000001,"e":0.1000,"f":1e999999}'),
(4, '{"a":1,"a":2,"a":1}'),
(5, '{"a":"caf\u00e9 café \/ / \\ \" \b\f\n\r\t \u0000 \ud83d"}'),
(6, '{"a":"日本 𝄞 é e' || chr(769) || '"}'),
(7, '{"a":"' || repeat('x', 300000) || '"}');
DO $$
BEGIN
    PERFORM harel_commit_cas('e' || n, 'd', content, 0) FROM sample;
    PERFORM harel_publish('e' || n, content, p_now => 100) FROM sample;
END
$$;
CREATE TEMP TABLE answer AS SELECT * FROM harel_next('w', 30, 10, p_now => 100);

SELECT is((SELECT count(*) FROM answer), 7::bigint, 'all are handed out');
SELECT is_empty(
    $$SELECT n FROM sample LEFT JOIN answer ON group_id = 'e' || n
    WHERE data IS DISTINCT FROM content COLLATE "C" OR event IS DISTINCT FROM content COLLATE "C"$$,
    'blanks, order of keys, digits, duplicate keys, escapes and length are as they were'
);

SELECT * FROM finish();
