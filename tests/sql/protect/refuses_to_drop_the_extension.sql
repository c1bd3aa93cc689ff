SELECT plan(6);

CREATE FUNCTION pg_temp.drop_extension() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_detail text;
BEGIN
    DROP EXTENSION harel;
    RETURN 'dropped';
EXCEPTION WHEN dependent_objects_still_exist THEN
    GET STACKED DIAGNOSTICS v_detail = PG_EXCEPTION_DETAIL;
    RETURN v_detail;
END
$$;

DO $$ BEGIN PERFORM harel_protect(); END $$;
SELECT is(
    pg_temp.drop_extension(), 'view executions_are_kept depends on table executions', 'the refusal says what it is for'
);
SELECT lives_ok('SELECT harel_protect()', 'a second time changes nothing');
SELECT is((SELECT executions FROM executions_are_kept), 0::bigint, 'it counts');
SELECT lives_ok('SELECT harel_protect(false)', 'it can be taken away');
SELECT lives_ok('SELECT harel_protect(false)', 'also twice');
DO $$ BEGIN PERFORM harel_protect(NULL); END $$;
SELECT isnt(pg_temp.drop_extension(), 'dropped', 'NULL does not take it away');

SELECT * FROM finish();
