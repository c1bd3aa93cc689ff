SELECT plan(3);

CREATE TEMP TABLE sample (id text, before text, after text);
INSERT INTO sample VALUES
('blanks', E' {\n\t"status" :\r "RUNNING" ,\n"version":1 }\n', E' {\n\t"status" :\r "SUSPENDED" ,\n"version":2 }\n'),
(
    'deeper',
    '{"a":{"status":"RUNNING","version":1},"status":"RUNNING","b":[{"status":"RUNNING"},["status"]],"version":1}',
    '{"a":{"status":"RUNNING","version":1},"status":"SUSPENDED","b":[{"status":"RUNNING"},["status"]],"version":2}'
),
(
    'as a value', '{"a":"status","b":["status","RUNNING"],"status":"RUNNING","c":"\"status\":\"RUNNING\"","version":1}',
    '{"a":"status","b":["status","RUNNING"],"status":"SUSPENDED","c":"\"status\":\"RUNNING\"","version":2}'
),
(
    'twice', '{"status":"PENDING","version":1,"status":"RUNNING","version":1}',
    '{"status":"SUSPENDED","version":2,"status":"SUSPENDED","version":2}'
),
(
    'numbers', '{"a":1.0,"b":1.50e+2,"c":-0,"d":1e999999,"version":1,"status":"RUNNING","e":0.1000}',
    '{"a":1.0,"b":1.50e+2,"c":-0,"d":1e999999,"version":2,"status":"SUSPENDED","e":0.1000}'
),
(
    'escapes', '{"\\":"\"","a":"\u0000\ud83d caf\u00e9 \/\b","status":"RUNNING","\"status":"{","b":"\\","version":1}',
    '{"\\":"\"","a":"\u0000\ud83d caf\u00e9 \/\b","status":"SUSPENDED","\"status":"{","b":"\\","version":2}'
),
(
    'signs',
    '{"a":"}],:{[","status":"RUNNING","b":[1,[],{}," , "],"version":1,"é 日本 𝄞":"' || chr(160) || chr(8232) || '"}',
    '{"a":"}],:{[","status":"SUSPENDED","b":[1,[],{}," , "],"version":2,"é 日本 𝄞":"' || chr(160) || chr(8232) || '"}'
),
(
    'other keys', '{"Status":1,"status ":2,"status":"RUNNING","version":1}',
    '{"Status":1,"status ":2,"status":"SUSPENDED","version":2}'
),
('odd values', '{"status":"RUNNING","version":1e0}', '{"status":"SUSPENDED","version":2}'),
('escaped keys', '{"st\u0061tus":"RUNNING","version":1}', '{"st\u0061tus":"SUSPENDED","version":2}'),
(
    'escaped keys and NUL', '{"\u0000":1,"\u0073tatus":"RUNNING","st\\u0061tus":"x","version":1}',
    '{"\u0000":1,"\u0073tatus":"SUSPENDED","st\\u0061tus":"x","version":2}'
),
(
    'long', '{"status":"RUNNING","a":"' || repeat('x', 300000) || '","version":1}',
    '{"status":"SUSPENDED","a":"' || repeat('x', 300000) || '","version":2}'
);
DO $$ BEGIN PERFORM harel_commit_cas(id, 'd', before, 0) FROM sample; END $$;
CREATE TEMP TABLE answer AS SELECT id, harel_suspend(id) AS changed FROM sample;

SELECT is((SELECT bool_and(changed) FROM answer), true, 'all can be suspended');
SELECT is_empty(
    'SELECT id, before, harel_load(id) FROM sample WHERE harel_load(id) <> after', 'of the data only this changes'
);
SELECT is_empty($$SELECT id FROM executions WHERE (status, version) <> ('SUSPENDED', 2)$$, 'their rows agree');

SELECT * FROM finish();
