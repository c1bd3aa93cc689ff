-- A client that loses its connection in a commit does not know whether it was carried out. To make the same commit
-- again is safe, as only one of the two can win; where it loses, this function says to whom.
CREATE FUNCTION @extschema@.harel_outcome(
    p_id text,
    p_old bigint,
    p_commit_id uuid,
    p_event text DEFAULT NULL,
    OUT outcome text,
    OUT stored_version integer,
    OUT outbox_seqs bigint[]
) RETURNS record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off
AS $$
DECLARE
    v_commit_id uuid;
    v_xmin xid;
    v_is_copied boolean;
BEGIN
    IF p_id IS NULL OR p_old IS NULL OR p_commit_id IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'ST001',
            MESSAGE = 'a commit is named by its execution, the version that it was based on, and its commit id',
            DETAIL = format('Execution %s: one of the three is NULL.', coalesce(quote_literal(left(p_id, 40)), 'NULL')),
            HINT = 'Pass what was passed to harel_commit_cas() or harel_commit().';
    END IF;
    -- A backend that was ended while it waited for a standby has left a commit that can be seen and may still be lost.
    -- The lock makes this a transaction that waits for the standby in its turn, and for what came before it.
    SELECT e.version, e.commit_id, e.xmin
    INTO stored_version, v_commit_id, v_xmin
    FROM @extschema@.executions e
    WHERE e.id = p_id
    FOR NO KEY UPDATE;
    outbox_seqs := '{}';
    IF v_commit_id = p_commit_id THEN
        outcome := 'committed';
        -- Written by the transaction that wrote the version, and not by an earlier execution of this id; on a cluster
        -- rows may have been copied since. It reads the whole outbox, for once.
        v_is_copied := @extschema@.harel__is_distributed();
        outbox_seqs := ARRAY(
            SELECT o.seq FROM @extschema@.outbox o
            WHERE o.source_id = p_id AND o.version = stored_version AND (o.xmin = v_xmin OR v_is_copied)
            ORDER BY o.ord
        );
    ELSIF stored_version - 1 <= p_old OR stored_version IS NOT NULL AND p_event <> '' THEN
        outcome := 'conflict';
    ELSE
        outcome := 'unknown';
    END IF;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_outcome(text, bigint, uuid, text)
IS
'What became of a commit that called itself p_commit_id and whose answer was lost, once the same commit, made again, '
'has lost: the outcome, the version now stored (NULL where there is no such execution) and, if it committed, the seqs '
'of its outbox rows, as far as they are still there. The outcome is committed; conflict, where nothing of it was '
'written, or where others have committed since and the ledger tells whether p_event was handled: load the execution '
'for the event again; or unknown, where others have committed since, or have purged the execution, and nothing tells. '
'Raises ST001 for NULL.';
REVOKE ALL ON FUNCTION @extschema@.harel_outcome(text, bigint, uuid, text) FROM PUBLIC;
