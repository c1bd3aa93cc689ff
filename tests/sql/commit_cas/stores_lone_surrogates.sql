SELECT plan(3);

CREATE TEMP TABLE sample (id text, escapes text, expected text);
INSERT INTO sample VALUES
('high alone', '\ud83d', chr(65533)),
('low alone', '\ude00', chr(65533)),
('high before a letter', '\ud83dx', chr(65533) || 'x'),
('low before high', '\ude00\ud83d', chr(65533) || chr(65533)),
('high, pair', '\ud83d\ud83d\ude00', chr(65533) || chr(128512)),
('pair, low', '\ud83d\ude00\ude00', chr(128512) || chr(65533)),
('pair, high', '\ud83d\ude00\ud83d', chr(128512) || chr(65533)),
('capitals', '\uD83D \uDE00 \uDBFF\uDFFF', chr(65533) || ' ' || chr(65533) || ' ' || chr(1114111)),
('capital digits alone', '\uDABC \uDBFF \uDDDD', concat_ws(' ', chr(65533), chr(65533), chr(65533))),
('first and last', '\ud800 \udbff \udc00 \udfff', concat_ws(' ', chr(65533), chr(65533), chr(65533), chr(65533))),
('neighbours', '\ud7ff\ue000', chr(55295) || chr(57344)),
('high and an escaped pair', '\ud83d\\ude00', chr(65533) || '\ude00'),
('high and NUL', '\ud83d\u0000', chr(65533) || chr(65533));
DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', format('{"status":"RUNNING","outcome":"%s"}', escapes), 0) FROM sample;
END
$$;

SELECT is((SELECT count(*) FROM executions WHERE status = 'RUNNING'), 13::bigint, 'all are stored with their status');
SELECT is_empty(
    $$SELECT id, harel_load(id) FROM sample
    WHERE harel_load(id) IS DISTINCT FROM format('{"status":"RUNNING","outcome":"%s"}', escapes)$$,
    'and come back byte for byte'
);
SELECT is_empty(
    $$SELECT s.id, e.outcome, s.expected FROM sample s LEFT JOIN executions e ON e.id = s.id
    WHERE e.outcome IS DISTINCT FROM s.expected$$,
    'where a half stands alone it is replaced, a pair is decoded'
);

SELECT * FROM finish();
