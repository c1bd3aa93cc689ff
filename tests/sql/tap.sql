-- The part of pgTAP that these tests use, for servers where pgTAP cannot be installed: the same names, arguments and
-- answers, so that the tests run with either. The counts live in settings of the transaction.
CREATE SCHEMA tap;
GRANT USAGE ON SCHEMA tap TO PUBLIC;

CREATE FUNCTION tap.count_of(p_name text) RETURNS integer
LANGUAGE sql STABLE
AS $$
    SELECT coalesce(nullif(current_setting('tap.' || p_name, true), ''), '0')::integer
$$;

CREATE FUNCTION tap.diag(p_text text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT '# ' || replace(p_text, E'\n', E'\n# ')
$$;

-- A query is given as its text or, like in pgTAP, as the name of a prepared statement.
CREATE FUNCTION tap.query(p_sql text) RETURNS text
LANGUAGE sql IMMUTABLE
AS $$
    SELECT CASE WHEN p_sql ~ '[[:space:]]' AND p_sql NOT LIKE '"%' THEN p_sql ELSE 'EXECUTE ' || p_sql END
$$;

CREATE FUNCTION tap.plan(p_tests integer) RETURNS text
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM set_config('tap.planned', p_tests::text, true),
        set_config('tap.run', '0', true),
        set_config('tap.failed', '0', true);
    RETURN '1..' || p_tests;
END
$$;

CREATE FUNCTION tap.ok(p_passed boolean, p_description text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_number integer := tap.count_of('run') + 1;
    v_line text := 'ok ' || v_number || coalesce(' - ' || nullif(replace(p_description, '#', '\#'), ''), '');
BEGIN
    PERFORM set_config('tap.run', v_number::text, true);
    IF p_passed THEN
        RETURN v_line;
    END IF;
    PERFORM set_config('tap.failed', (tap.count_of('failed') + 1)::text, true);
    RETURN 'not ' || v_line || E'\n' || tap.diag(
        format('Failed test %s', v_number) || coalesce(format(': "%s"', p_description), '')
        || CASE WHEN p_passed IS NULL THEN E'\n    (test result was NULL)' ELSE '' END
    );
END
$$;

CREATE FUNCTION tap.verdict(p_passed boolean, p_description text, p_why text) RETURNS text
LANGUAGE sql
AS $$
    SELECT tap.ok(p_passed, p_description) || CASE WHEN p_passed THEN '' ELSE E'\n' || tap.diag(p_why) END
$$;

CREATE FUNCTION tap.is(p_have anyelement, p_want anyelement, p_description text DEFAULT NULL) RETURNS text
LANGUAGE sql
AS $$
    SELECT tap.verdict(
        p_have IS NOT DISTINCT FROM p_want, p_description,
        format(E'    have: %s\n    want: %s', coalesce(p_have::text, 'NULL'), coalesce(p_want::text, 'NULL'))
    )
$$;

CREATE FUNCTION tap.isnt(p_have anyelement, p_want anyelement, p_description text DEFAULT NULL) RETURNS text
LANGUAGE sql
AS $$
    SELECT tap.verdict(
        p_have IS DISTINCT FROM p_want, p_description,
        format(E'    have: %s\n    want: anything else', coalesce(p_have::text, 'NULL'))
    )
$$;

-- A NULL p_code or p_message is not compared.
CREATE FUNCTION tap.throws_ok(p_sql text, p_code text, p_message text, p_description text) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_code text;
    v_message text;
BEGIN
    BEGIN
        EXECUTE tap.query(p_sql);
    EXCEPTION WHEN OTHERS OR assert_failure THEN
        v_code := sqlstate;
        v_message := sqlerrm;
    END;
    RETURN tap.verdict(
        v_code IS NOT NULL AND v_code = coalesce(p_code, v_code) AND v_message = coalesce(p_message, v_message),
        coalesce(p_description, 'threw ' || p_code),
        format(
            E'    caught: %s\n    wanted: %s', coalesce(v_code || ': ' || v_message, 'no exception'),
            coalesce(p_code, 'an exception') || coalesce(': ' || p_message, '')
        )
    );
END
$$;

CREATE FUNCTION tap.lives_ok(p_sql text, p_description text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_error text;
BEGIN
    BEGIN
        EXECUTE tap.query(p_sql);
    EXCEPTION WHEN OTHERS OR assert_failure THEN
        v_error := sqlstate || ': ' || sqlerrm;
    END;
    RETURN tap.verdict(v_error IS NULL, p_description, '    died: ' || v_error);
END
$$;

-- The same rows in the same order; columns that differ in number or type are a failure.
CREATE FUNCTION tap.results_eq(p_have text, p_want text, p_description text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_haves refcursor;
    v_wants refcursor;
    v_have record;
    v_want record;
    v_more_haves boolean;
    v_more_wants boolean;
    v_row integer := 0;
BEGIN
    OPEN v_haves FOR EXECUTE tap.query(p_have);
    OPEN v_wants FOR EXECUTE tap.query(p_want);
    LOOP
        FETCH v_haves INTO v_have;
        v_more_haves := FOUND;
        FETCH v_wants INTO v_want;
        v_more_wants := FOUND;
        v_row := v_row + 1;
        IF v_more_haves <> v_more_wants OR v_more_haves AND v_have IS DISTINCT FROM v_want THEN
            CLOSE v_haves;
            CLOSE v_wants;
            RETURN tap.verdict(false, p_description, format(
                E'    Results differ beginning at row %s:\n    have: %s\n    want: %s', v_row,
                CASE WHEN v_more_haves THEN v_have::text ELSE 'no row' END,
                CASE WHEN v_more_wants THEN v_want::text ELSE 'no row' END
            ));
        END IF;
        EXIT WHEN NOT v_more_haves;
    END LOOP;
    CLOSE v_haves;
    CLOSE v_wants;
    RETURN tap.ok(true, p_description);
EXCEPTION WHEN datatype_mismatch THEN
    RETURN tap.verdict(false, p_description, format(
        E'    Number of columns or their types differ between the queries:\n    have: %s\n    want: %s', v_have, v_want
    ));
END
$$;

CREATE FUNCTION tap.is_empty(p_sql text, p_description text DEFAULT NULL) RETURNS text
LANGUAGE plpgsql
AS $$
DECLARE
    v_row record;
    v_rows text := '';
BEGIN
    FOR v_row IN EXECUTE tap.query(p_sql) LOOP
        v_rows := v_rows || E'\n        ' || v_row::text;
    END LOOP;
    RETURN tap.verdict(v_rows = '', p_description, '    Unexpected records:' || v_rows);
END
$$;

CREATE FUNCTION tap.finish() RETURNS SETOF text
LANGUAGE plpgsql
AS $$
DECLARE
    v_planned integer := tap.count_of('planned');
    v_run integer := tap.count_of('run');
    v_failed integer := tap.count_of('failed');
BEGIN
    IF v_run <> v_planned THEN
        RETURN NEXT format('# Looks like you planned %s tests but ran %s', v_planned, v_run);
    END IF;
    IF v_failed > 0 THEN
        RETURN NEXT format('# Looks like you failed %s tests of %s', v_failed, v_run);
    END IF;
END
$$;
