SELECT plan(2);

CREATE FUNCTION pg_temp.serve(p_now double precision) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
BEGIN
    SELECT c.* INTO v_lease FROM harel_claim('w', 10, p_now => p_now) c;
    PERFORM harel_ack(v_lease.group_id, v_lease.token, p_now + 0.5);
    RETURN v_lease.event;
END
$$;
DO $$
BEGIN
    PERFORM harel_publish('big', 'big ' || n, 0, 1) FROM generate_series(1, 100) n;
    PERFORM harel_publish('small ' || n, 'small ' || n, 0, 1 + n) FROM generate_series(1, 3) n;
END
$$;

SELECT is(
    ARRAY(SELECT pg_temp.serve(10 + n) FROM generate_series(1, 6) n), '{big 1,small 1,small 2,small 3,big 2,big 3}',
    'a group with many messages waits for those that were there'
);
DO $$ BEGIN PERFORM harel_publish('late', 'late', 0, 17); END $$;
SELECT is(
    ARRAY(SELECT pg_temp.serve(20 + n) FROM generate_series(1, 3) n), '{big 4,late,big 5}',
    'and for those that came since'
);

SELECT * FROM finish();
