SELECT plan(3);

-- Reads all pages. A page that is short before the end, or longer than asked for, is an error.
CREATE FUNCTION pg_temp.walk(p_definition_id text, p_statuses text[], p_roots_only boolean, p_limit integer) RETURNS text[]
LANGUAGE plpgsql AS $$
DECLARE
    v_all text[] := '{}';
    v_page text[];
    v_cursor text;
BEGIN
    FOR i IN 1 .. 1000 LOOP
        SELECT array_agg(l.id ORDER BY l.place), (array_agg(l.next_cursor ORDER BY l.place DESC))[1]
        INTO v_page, v_cursor
        FROM harel_list(p_definition_id, p_statuses, p_roots_only, p_limit, v_cursor) WITH ORDINALITY AS l (
            id, definition_id, status, outcome, active_path, version, parent_id, created_at, updated_at, finished_at,
            next_cursor, place
        );
        v_all := v_all || coalesce(v_page, '{}');
        IF v_cursor IS NOT NULL AND cardinality(v_page) <> p_limit OR cardinality(v_page) > p_limit THEN
            RETURN v_all || 'a page has the wrong length'::text;
        END IF;
        IF v_cursor IS NULL THEN
            RETURN v_all;
        END IF;
    END LOOP;
    RETURN v_all || 'the pages do not end'::text;
END
$$;
DO $$
BEGIN
    PERFORM harel_commit_cas(
        md5(n::text), (ARRAY['a', 'b', 'B'])[n % 3 + 1],
        CASE n % 7 WHEN 6 THEN '{' ELSE format('{"status": "%s", ', (ARRAY['RUNNING', 'DONE', 'PENDING', 'FAILED', 'RUNNING', ''])[n % 7 + 1]) END
        || format('"parent_id": %s}', CASE WHEN n % 5 IN (1, 2) THEN '"p"' ELSE 'null' END),
        0
    )
    FROM generate_series(1, 210) n;
END
$$;
CREATE TEMP TABLE plain AS SELECT * FROM executions;
CREATE TEMP TABLE checked AS
SELECT
    d.definition_id, s.statuses, r.roots_only, l.page,
    pg_temp.walk(d.definition_id, s.statuses, r.roots_only, l.page) AS have,
    ARRAY(
        SELECT e.id FROM plain e
        WHERE (d.definition_id IS NULL OR e.definition_id = d.definition_id)
            AND (s.statuses IS NULL OR e.status = ANY (s.statuses))
            AND (r.roots_only IS NOT TRUE OR e.parent_id IS NULL)
        ORDER BY e.id
    ) AS want
FROM unnest(ARRAY[NULL, 'a', 'b', 'B', 'unknown', '']) AS d (definition_id),
    (VALUES
        (NULL::text[]), ('{}'), ('{RUNNING}'), ('{DONE,RUNNING}'), ('{RUNNING,RUNNING,DONE,RUNNING}'), ('{NULL}'),
        ('{NULL,DONE,NULL}'), ('{unknown}'), ('{unknown,PENDING}'), ('{""}'), ('{"",FAILED}'), ('{running}'),
        ('{RUNNING,DONE,PENDING,FAILED,SUSPENDED,CANCELLING,CANCELLED,""}')
    ) AS s (statuses),
    unnest(ARRAY[NULL, false, true]) AS r (roots_only),
    unnest(ARRAY[1, 7, 70, 1000]) AS l (page);

SELECT is((SELECT count(*) FROM checked), 936::bigint, 'all combinations of six definitions, thirteen statuses, three roots and four limits');
SELECT ok((SELECT count(*) > 200 FROM checked WHERE cardinality(want) > 7), 'many of which span pages');
SELECT is_empty('SELECT * FROM checked WHERE have IS DISTINCT FROM want', 'give what a plain SELECT gives, in its order');

SELECT * FROM finish();
