-- Logical replication brings the rows, but before PostgreSQL 19 no sequence: a subscriber that takes over would give
-- numbers again that its rows already have.
CREATE FUNCTION @extschema@.harel_reset_sequences() RETURNS integer
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_moved integer := 0;
BEGIN
    -- There each node has numbers of its own, which come with its rows.
    IF @extschema@.harel__is_distributed() THEN
        RETURN 0;
    END IF;
    -- With the tables locked, nobody takes a number between the look at a sequence and its move.
    LOCK TABLE @extschema@.outbox IN SHARE ROW EXCLUSIVE MODE;
    PERFORM setval('@extschema@.outbox_seq_seq', o.seq)
    FROM (SELECT max(seq) AS seq FROM @extschema@.outbox) o, @extschema@.outbox_seq_seq s
    WHERE o.seq > s.last_value OR o.seq = s.last_value AND NOT s.is_called;
    v_moved := v_moved + FOUND::integer;
    LOCK TABLE @extschema@.spawns IN SHARE ROW EXCLUSIVE MODE;
    PERFORM setval('@extschema@.spawns_seq_seq', w.seq)
    FROM (SELECT max(seq) AS seq FROM @extschema@.spawns) w, @extschema@.spawns_seq_seq s
    WHERE w.seq > s.last_value OR w.seq = s.last_value AND NOT s.is_called;
    v_moved := v_moved + FOUND::integer;
    PERFORM setval('@extschema@.shards_joined', 1)
    WHERE pg_sequence_last_value('@extschema@.shards_joined') IS NULL
        AND EXISTS (SELECT FROM @extschema@.shards s WHERE s.joined_at IS NOT NULL);
    v_moved := v_moved + FOUND::integer;
    RETURN v_moved;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_reset_sequences()
IS
'Moves the sequences of outbox and spawns past what these tables hold, and never back, and gives shards_joined its '
'value where there is a map of the shards; returns how many were moved. To be called where the rows came by logical '
'replication, before the first commit.';
REVOKE ALL ON FUNCTION @extschema@.harel_reset_sequences() FROM PUBLIC;
