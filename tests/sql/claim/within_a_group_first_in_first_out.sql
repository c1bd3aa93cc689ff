SELECT plan(1);

CREATE FUNCTION pg_temp.served() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    v_lease record;
BEGIN
    FOR i IN 1 .. 30 LOOP
        SELECT c.* INTO v_lease FROM harel_claim('w', 10, p_now => i + 1) c;
        EXIT WHEN NOT FOUND;
        -- Each is first given back once.
        IF v_lease.attempts = 1 THEN
            PERFORM harel_nack('g', v_lease.token, p_now => i + 1);
        ELSE
            RETURN NEXT v_lease.event;
            PERFORM harel_ack('g', v_lease.token, i + 1);
        END IF;
    END LOOP;
END
$$;
DO $$ BEGIN PERFORM harel_publish('g', n::text, 0, 1.0 / n) FROM generate_series(1, 12) n; END $$;

SELECT is(
    ARRAY(SELECT * FROM pg_temp.served()), ARRAY(SELECT n::text FROM generate_series(1, 12) n),
    'whatever was given back, and whatever the clock said at the time'
);

SELECT * FROM finish();
