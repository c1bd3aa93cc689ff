SELECT plan(4);

CREATE TEMP TABLE sample (content text);
INSERT INTO sample VALUES
(E'  {"b": 1,\n "a": "\\u0000", "a": 1e999999}\t'), ('not JSON'), (''), ('日本 𝄞'), ('NULL'), ('{}'),
(repeat('y', 100000));
DO $$
DECLARE
    v_texts text[] := ARRAY(SELECT content FROM sample);
BEGIN
    PERFORM harel_commit(
        'e', 'd', '{}', 0, NULL, array_fill(NULL::text, ARRAY[7]), v_texts, array_fill('c'::text, ARRAY[7]), v_texts, v_texts
    );
    PERFORM harel_commit('e' || row_number, 'd', '{}', 0, p_trace => content)
    FROM (SELECT content, row_number() OVER () FROM sample) s;
END
$$;

SELECT is(ARRAY(SELECT event FROM harel_pending_outbox()), ARRAY(SELECT content FROM sample), 'events do');
SELECT is(ARRAY(SELECT context FROM harel_pending_spawns()), ARRAY(SELECT content FROM sample), 'contexts do');
SELECT is(ARRAY(SELECT root_path FROM harel_pending_spawns()), ARRAY(SELECT content FROM sample), 'root paths do');
SELECT is(
    ARRAY(SELECT t.entry FROM generate_series(1, 7) n, harel_read_trace('e' || n) t ORDER BY n),
    ARRAY(SELECT content FROM sample), 'trace entries do'
);

SELECT * FROM finish();
