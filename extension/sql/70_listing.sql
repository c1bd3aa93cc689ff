-- A cursor is the last id of a page, with a mark to know it by and a checksum against one cut short. The bytes of the
-- id are those of the database: not every encoding can be converted, and SQL_ASCII takes bytes that are none.
CREATE FUNCTION @extschema@.harel__cursor(p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id bytea := convert_to(p_id, getdatabaseencoding());
BEGIN
    RETURN replace(
        encode(decode('68317c', 'hex') || substr(sha256(v_id), 1, 4) || v_id, 'base64'), chr(10), ''
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__cursor(text)
IS 'Internal. The cursor for the page after an id.';
REVOKE ALL ON FUNCTION @extschema@.harel__cursor(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_cursor(p_id text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF p_id IS NULL THEN
        PERFORM @extschema@.harel__refuse_key(p_id, 'execution id', p_id);
    END IF;
    RETURN @extschema@.harel__cursor(p_id);
END
$$;
COMMENT ON FUNCTION @extschema@.harel_cursor(text)
IS
'A cursor of harel_list() for the page that begins after an id, whether or not it exists: for who merges the pages of '
'several stores. Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_cursor(text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__cursor_id(p_cursor text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text;
BEGIN
    BEGIN
        v_id := convert_from(substr(decode(p_cursor, 'base64'), 8), getdatabaseencoding());
    EXCEPTION WHEN data_exception THEN
        v_id := NULL;
    END;
    IF v_id IS NULL OR @extschema@.harel__cursor(v_id) <> p_cursor THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST007',
            MESSAGE = 'the cursor is not one of harel_list()',
            DETAIL = format('The cursor begins with %L.', left(p_cursor, 40)),
            HINT = 'Pass next_cursor of the page before as it came, or NULL for the first page.';
    END IF;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__cursor_id(text)
IS 'Internal. The id that a cursor stands for; raises ST007 for one that harel__cursor() did not make.';
REVOKE ALL ON FUNCTION @extschema@.harel__cursor_id(text) FROM PUBLIC;

-- A page is read in two steps: the ids that belong on it, from an index, and then their rows. Each pair of a status
-- and root or not is one range of the index in the order of the ids, of which no more than a page is read; the
-- ranges are merged. So a page costs the same at any depth, and what the filter leaves out costs nothing. Where no
-- status is asked for, those that occur are found by one descent of the index for each (a loose index scan).
CREATE FUNCTION @extschema@.harel_list(
    p_definition_id text DEFAULT NULL,
    p_statuses text[] DEFAULT NULL,
    p_roots_only boolean DEFAULT false,
    p_limit integer DEFAULT 100,
    p_cursor text DEFAULT NULL
) RETURNS TABLE (
    id text,
    definition_id text,
    status text,
    outcome text,
    active_path text,
    version integer,
    parent_id text,
    created_at timestamptz,
    updated_at timestamptz,
    finished_at timestamptz,
    next_cursor text
)
LANGUAGE plpgsql STABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET enable_seqscan = off
AS $$
DECLARE
    -- No id is empty, so each one comes after the empty text.
    v_after text COLLATE "C" := '';
    v_fetch bigint := coalesce(p_limit, 100)::bigint + 1;
    v_statuses text[] := p_statuses;
    v_roots boolean[] := CASE WHEN p_roots_only THEN ARRAY[true] ELSE ARRAY[true, false] END;
    v_ids text[];
BEGIN
    IF p_limit < 1 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST008',
            MESSAGE = 'the limit of a page must be at least 1',
            DETAIL = format('The limit is %s.', p_limit),
            HINT = 'Pass the greatest number of rows wanted on a page.';
    END IF;
    IF p_cursor IS NOT NULL THEN
        v_after := @extschema@.harel__cursor_id(p_cursor);
    END IF;
    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_list(p_definition_id, p_statuses, p_roots_only, v_after, v_fetch);
        RETURN;
    END IF;

    IF p_definition_id IS NULL AND p_statuses IS NULL AND p_roots_only IS NOT TRUE THEN
        v_ids := ARRAY(
            SELECT e.id FROM @extschema@.executions e
            WHERE e.id > v_after
            ORDER BY e.id
            LIMIT v_fetch
        );
    ELSIF p_definition_id IS NULL THEN
        v_statuses := coalesce(v_statuses, ARRAY(
            WITH RECURSIVE found (status) AS (
                SELECT min(e.status) FROM @extschema@.executions e
                UNION ALL
                SELECT (
                    SELECT min(e.status) FROM @extschema@.executions e
                    WHERE e.status > f.status
                )
                FROM found f
                WHERE f.status IS NOT NULL
            )
            SELECT f.status FROM found f WHERE f.status IS NOT NULL
        ));
        v_ids := ARRAY(
            SELECT b.id
            FROM (SELECT DISTINCT unnest(v_statuses)) AS s (status)
            CROSS JOIN unnest(v_roots) AS r (is_root)
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.status = s.status AND (e.parent_id IS NULL) = r.is_root AND e.id > v_after
                ORDER BY e.id
                LIMIT v_fetch
            ) AS b
            ORDER BY b.id
            LIMIT v_fetch
        );
    ELSE
        -- Compared as a pair, so that no index but the one by definition can serve.
        v_statuses := coalesce(v_statuses, ARRAY(
            WITH RECURSIVE found (definition_id, status) AS (
                (
                    SELECT e.definition_id, e.status FROM @extschema@.executions e
                    WHERE (e.definition_id, e.status) >= (p_definition_id, '')
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                )
                UNION ALL
                SELECT n.definition_id, n.status
                FROM found f
                CROSS JOIN LATERAL (
                    SELECT e.definition_id, e.status FROM @extschema@.executions e
                    WHERE (e.definition_id, e.status) > (f.definition_id, f.status)
                    ORDER BY e.definition_id, e.status
                    LIMIT 1
                ) AS n
                WHERE f.definition_id = p_definition_id
            )
            SELECT f.status FROM found f WHERE f.definition_id = p_definition_id
        ));
        v_ids := ARRAY(
            SELECT b.id
            FROM (SELECT DISTINCT unnest(v_statuses)) AS s (status)
            CROSS JOIN unnest(v_roots) AS r (is_root)
            CROSS JOIN LATERAL (
                SELECT e.id FROM @extschema@.executions e
                WHERE e.definition_id = p_definition_id
                    AND e.status = s.status AND (e.parent_id IS NULL) = r.is_root AND e.id > v_after
                ORDER BY e.id
                LIMIT v_fetch
            ) AS b
            ORDER BY b.id
            LIMIT v_fetch
        );
    END IF;

    RETURN QUERY
    SELECT
        e.id, e.definition_id, nullif(e.status, ''), e.outcome, e.active_path, e.version, e.parent_id,
        e.created_at, e.updated_at, e.finished_at,
        -- The last row of a page names the next one, if the id fetched beyond the page showed that there is one.
        CASE WHEN p.place = v_fetch - 1 AND cardinality(v_ids) = v_fetch THEN @extschema@.harel__cursor(e.id) END
    FROM unnest(v_ids[1:v_fetch - 1]) WITH ORDINALITY AS p (id, place)
    -- Not a plain join: see 80_publish.sql.
    CROSS JOIN LATERAL (
        SELECT * FROM @extschema@.executions x
        WHERE x.id = p.id
        OFFSET 0
    ) e
    ORDER BY p.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text)
IS
'A page of executions in the order of their ids (as bytes), without their data: those of one definition, in any '
'of some statuses, or roots only (NULL or false: no such filter). The last row''s next_cursor, if not NULL, brings '
'the next page. Pages neither repeat nor skip a row while others are inserted and deleted. Raises ST007 or ST008.';
REVOKE ALL ON FUNCTION @extschema@.harel_list(text, text[], boolean, integer, text) FROM PUBLIC;
