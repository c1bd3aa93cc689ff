SELECT plan(4);

CREATE SCHEMA "my archive";
CREATE TABLE "my archive".kept (id text, data text, trace text);
CREATE FUNCTION "my archive"."keep it"(p_id text, p_data text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO "my archive".kept SELECT p_id, p_data, entry FROM public.harel_read_trace(p_id);
    IF p_data ~ 'refused' THEN
        RAISE EXCEPTION 'not this one';
    END IF;
END
$$;
DO $$
BEGIN
    PERFORM harel_commit(e, 'd', format('{"status": "DONE", "finished_at": %s}', t), 0, p_trace => 'step of ' || e)
    FROM (VALUES ('a', 100), ('b', 101)) AS v (e, t);
END
$$;

SELECT is(harel_purge_finished(0, p_archive => '"my archive"."keep it"(text,text)', p_now => 1000), 2, 'they go');
SELECT is(
    ARRAY(SELECT k::text FROM "my archive".kept k ORDER BY id),
    ARRAY[
        ('a', '{"status": "DONE", "finished_at": 100}', 'step of a')::text,
        ('b', '{"status": "DONE", "finished_at": 101}', 'step of b')::text
    ], 'after the archive had each, while all of it was there'
);
DO $$
BEGIN
    PERFORM harel_commit('c', 'd', '{"status": "DONE", "finished_at": 1}', 0, p_trace => 's');
    PERFORM harel_commit('d', 'd', '{"status": "DONE", "finished_at": 2, "x": "refused"}', 0, p_trace => 's');
END
$$;
SELECT throws_ok(
    $$SELECT harel_purge_finished(0, p_archive => '"my archive"."keep it"(text,text)', p_now => 1000)$$, 'P0001', NULL,
    'an archive that fails is heard of'
);
SELECT is(ARRAY(SELECT id FROM executions ORDER BY id), '{c,d}', 'and all stay');

SELECT * FROM finish();
