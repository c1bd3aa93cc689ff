SELECT plan(5);

CREATE SCHEMA other;
CREATE TABLE other.executions (id text, definition_id text, data jsonb, version int);
CREATE FUNCTION pg_temp.mistake(p_call text, OUT code text, OUT detail text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE p_call;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END
$$;

SELECT throws_ok('SELECT harel_adopt(NULL)', 'ST014', NULL, 'no schema');
SELECT throws_ok($$SELECT harel_adopt('nowhere')$$, 'ST014', NULL, 'one that does not exist');
SELECT throws_ok($$SELECT harel_adopt('public')$$, 'ST014', NULL, 'that of the store itself');
SELECT ok(
    (SELECT m.code = 'ST014' AND m.detail ~ 'Schema other lacks executions.data text, outbox.event text' AND m.hint <> ''
        FROM pg_temp.mistake($$SELECT harel_adopt('other')$$) m), 'tables of another kind, and says what is missing'
);
SELECT is((SELECT count(*) FROM pg_class WHERE relname = 'executions_adopted'), 0::bigint, 'nothing is renamed');

SELECT * FROM finish();
