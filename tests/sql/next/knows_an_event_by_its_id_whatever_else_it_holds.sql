SELECT plan(2);

CREATE TEMP TABLE sample (name text, event text);
INSERT INTO sample VALUES
('NUL', '{"data": "\u0000", "id": "ev"}'),
('NUL behind', '{"id": "ev", "data": {"\u0000": ["a\u0000b"]}}'),
('half a pair', '{"data": "\ud83d", "id": "ev"}'),
('other half', '{"id": "ev", "data": "\ude00\ud83d"}'),
('pair', '{"data": "\ud83d\ude00", "id": "ev"}'),
('escaped backslash', '{"data": "\\u0000", "id": "ev"}'),
('great number', '{"data": 1e999999, "id": "ev"}'),
('great number and NUL', '{"data": [1e999999, "\u0000"], "id": "ev"}'),
('escaped id', '{"\u0069d": "\u0065v"}'),
('escaped id and NUL', '{"\u0069d": "\u0065v", "data": "\u0000"}'),
('two ids', '{"id": "other", "id": "ev"}'),
('two ids and NUL', '{"id": "other", "data": "\u0000", "id": "ev"}'),
('blanks', E' {\n"id"\t:\r"ev" } ');
DO $$
BEGIN
    PERFORM harel_commit_cas(name, 'd', '{}', 0, 'ev') FROM sample;
    PERFORM harel_publish(name, event, p_now => 100) FROM sample;
END
$$;
CREATE TEMP TABLE answer AS SELECT * FROM harel_next('w', 30, 100, p_now => 100);

SELECT is((SELECT count(*) FROM answer), 13::bigint, 'all are handed out');
SELECT is_empty('SELECT group_id, event FROM answer WHERE NOT already_processed', 'and known to be processed');

SELECT * FROM finish();
