CREATE FUNCTION @extschema@.harel__member(p_data text, p_key text) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN p_data::jsonb ->> p_key;
EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported OR internal_error THEN
    BEGIN
        -- jsonb holds less than JSON allows.
        RETURN @extschema@.harel__decodable(p_data) ->> p_key;
    EXCEPTION WHEN data_exception OR program_limit_exceeded OR feature_not_supported THEN
        RETURN NULL;
    END;
END
$$;
COMMENT ON FUNCTION @extschema@.harel__member(text, text)
IS 'Internal. A member at the top level of a JSON text; NULL where there is none or the text is not JSON.';
REVOKE ALL ON FUNCTION @extschema@.harel__member(text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__announce_sleep(p_sleep double precision) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    PERFORM setval(
        '@extschema@.transport_asleep_until',
        greatest(
            pg_sequence_last_value('@extschema@.transport_asleep_until'),
            least((extract(epoch FROM clock_timestamp()) + p_sleep) * 1000000, 9e18)::bigint
        )
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__announce_sleep(double precision)
IS 'Internal. Says that a worker is going to sleep for so many seconds: see harel__wake().';
REVOKE ALL ON FUNCTION @extschema@.harel__announce_sleep(double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_next(
    p_worker text,
    p_visibility double precision,
    p_limit integer DEFAULT 1,
    p_min_priority integer DEFAULT 0,
    p_max_attempts integer DEFAULT 20,
    p_sleep double precision DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (
    group_id text, seq bigint, event text, token uuid, deadline double precision, attempts integer,
    definition_id text, data text, version integer, status text, already_processed boolean
)
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_locked record;
    v_row record;
    v_announced boolean := p_sleep IS NULL;
    v_given boolean := false;
    v_unknown text[];
    v_suspended text[];
BEGIN
    IF (octet_length(p_worker) BETWEEN 1 AND 1000
        AND p_visibility BETWEEN 0 AND 1e300
        AND p_limit >= 0
        AND p_min_priority BETWEEN 0 AND 4) IS NOT TRUE
    THEN
        PERFORM @extschema@.harel__check_claim(p_worker, p_visibility, p_limit, p_min_priority);
    END IF;
    IF p_sleep IS NOT NULL THEN
        PERFORM @extschema@.harel__check_duration('sleep', p_sleep);
    END IF;
    token := gen_random_uuid();
    IF @extschema@.harel__is_distributed() THEN
        LOOP
            RETURN QUERY
            SELECT * FROM @extschema@.harel__everywhere_next(
                p_worker, p_visibility, p_limit, p_min_priority,
                CASE WHEN p_min_priority > 0 THEN p_limit ELSE floor(p_limit / 2.0 + random())::integer END,
                p_max_attempts, true, p_now
            );
            IF FOUND OR v_announced OR p_limit = 0 THEN
                RETURN;
            END IF;
            v_announced := true;
            PERFORM @extschema@.harel__announce_sleep(p_sleep);
        END LOOP;
    END IF;
    LOOP
        -- Of two messages, one goes by priority and one by age, so that neither can keep the other waiting for ever.
        v_locked := @extschema@.harel__lock_available(
            p_limit, p_min_priority, floor(p_limit / 2.0 + random())::integer, p_max_attempts, p_now
        );
        IF v_locked.tids = '{}' THEN
            IF v_announced OR p_limit = 0 THEN
                RETURN;
            END IF;
            -- Said first and then looked once more, or what comes in between would wake nobody.
            v_announced := true;
            PERFORM @extschema@.harel__announce_sleep(p_sleep);
            CONTINUE;
        END IF;
        deadline := v_locked.now + p_visibility;
        v_unknown := '{}';
        v_suspended := '{}';
        FOR v_row IN
            WITH leased AS (
                UPDATE @extschema@.transport_groups g
                SET available_at = deadline,
                    token = harel_next.token,
                    worker = p_worker,
                    attempts = g.attempts + 1,
                    claimed_at = clock_timestamp()
                WHERE g.ctid = ANY (v_locked.tids)
                RETURNING g.group_id, g.head, g.attempts
            )
            SELECT
                l.group_id, l.head, m.event, l.attempts, e.definition_id, e.data, e.version, e.status,
                (
                    SELECT true FROM @extschema@.processed_events p
                    WHERE p.execution_id = l.group_id AND p.event_id = @extschema@.harel__member(m.event, 'id')
                ) IS NOT NULL AS already_processed
            FROM leased l
            CROSS JOIN LATERAL (
                SELECT m.event FROM @extschema@.transport_messages m
                WHERE m.group_id = l.group_id AND m.seq = l.head
                OFFSET 0
            ) m
            LEFT JOIN LATERAL (
                SELECT e.definition_id, e.data, e.version, e.status FROM @extschema@.executions e
                WHERE e.id = l.group_id
                OFFSET 0
            ) e ON true
        LOOP
            IF v_row.version IS NULL THEN
                v_unknown := v_unknown || v_row.group_id;
            ELSIF v_row.status = 'SUSPENDED' THEN
                v_suspended := v_suspended || v_row.group_id;
            ELSIF v_row.status IN ('CANCELLED', 'FAILED') AND NOT v_row.already_processed THEN
                PERFORM @extschema@.harel__bury(
                    ARRAY[v_row.group_id], format('the execution is %s', v_row.status), true, v_locked.now
                );
            ELSE
                group_id := v_row.group_id;
                seq := v_row.head;
                event := v_row.event;
                attempts := v_row.attempts;
                definition_id := v_row.definition_id;
                data := v_row.data;
                version := v_row.version;
                status := v_row.status;
                already_processed := v_row.already_processed;
                v_given := true;
                RETURN NEXT;
            END IF;
        END LOOP;
        IF v_suspended <> '{}' THEN
            UPDATE @extschema@.transport_groups g
            SET available_at = 'Infinity', token = NULL, worker = NULL, attempts = g.attempts - 1
            WHERE g.group_id = ANY (v_suspended);
        END IF;
        IF v_unknown <> '{}' THEN
            PERFORM @extschema@.harel__drop_unknown(v_unknown, v_locked.now);
        END IF;
        EXIT WHEN v_given;
    END LOOP;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_next(
    text, double precision, integer, integer, integer, double precision, double precision
) IS
'harel_claim() and harel_load_for_event() in one: leases up to p_limit messages, up to half of them by priority and '
'the others by age, and returns each with its execution and whether this has handled the event already. Messages for '
'an execution that does not exist, or is CANCELLED or FAILED, become dead letters; those of one that is '
'SUSPENDED stay until harel_resume(). Where there is nothing to do, p_sleep announces that the worker is going to '
'sleep for so many seconds: a message then sends a notification on harel_channel(). Raises ST001, ST006, ST008, ST010 '
'or ST011.';
REVOKE ALL ON FUNCTION @extschema@.harel_next(
    text, double precision, integer, integer, integer, double precision, double precision
) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__drop_unknown(p_group_ids text[], p_now double precision) RETURNS void
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
AS $$
DECLARE
    -- One that is asked for, and not yet created, is waited for, and one may have been created since it was looked for.
    v_expected text[] := ARRAY(
        SELECT g.id FROM unnest(p_group_ids) AS g (id)
        WHERE (SELECT true FROM @extschema@.spawns s WHERE s.child_id = g.id LIMIT 1)
            OR (SELECT true FROM @extschema@.executions e WHERE e.id = g.id)
    );
BEGIN
    UPDATE @extschema@.transport_groups g
    SET available_at = p_now + 0.1, token = NULL, worker = NULL, attempts = g.attempts - 1
    WHERE g.group_id = ANY (v_expected);
    PERFORM @extschema@.harel__bury(
        ARRAY(SELECT g.id FROM unnest(p_group_ids) AS g (id) WHERE g.id <> ALL (v_expected)),
        'there is no such execution', true, p_now
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__drop_unknown(text[], double precision)
IS 'Internal. Makes the messages of executions that do not exist dead letters, but parks those of pending spawns.';
REVOKE ALL ON FUNCTION @extschema@.harel__drop_unknown(text[], double precision) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__derived_id(VARIADIC p_parts text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    -- The bytes as the database has them: see harel__cursor().
    RETURN left(
        encode(sha256(convert_to(array_to_string(p_parts, chr(31)), getdatabaseencoding())), 'hex'), 32
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__derived_id(text[])
IS 'Internal. An event id of 32 hexadecimal digits, the same for the same texts.';
REVOKE ALL ON FUNCTION @extschema@.harel__derived_id(text[]) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel__create_child(
    p_parent_id text, p_definition_id text, p_priority integer, p_child_id text, p_root_path text, p_context text
) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    v_id text := to_json(p_child_id);
BEGIN
    IF (octet_length(p_child_id) BETWEEN 1 AND 1000) IS NOT TRUE THEN
        PERFORM @extschema@.harel__refuse_key(p_parent_id, 'child id', p_child_id);
    END IF;
    -- By itself, too: what is no value may still be a part of an object.
    PERFORM @extschema@.harel__fields(p_child_id, p_context);
    IF NOT @extschema@.harel__swap(
        p_child_id,
        p_definition_id,
        format(
            '{"id":%s,"definition_id":%s,"root_path":%s,"status":"PENDING","context":%s,"parent_id":%s,"child_id":%s,'
            '"priority":%s,"version":1}',
            v_id, to_json(p_definition_id), to_json(p_root_path), p_context, to_json(p_parent_id), v_id, p_priority
        ),
        0,
        NULL
    ) THEN
        RETURN NULL;
    END IF;
    RETURN format(
        '{"id":"%s","kind":"Start","data":{}}', @extschema@.harel__derived_id('Start', p_child_id)
    );
END
$$;
COMMENT ON FUNCTION @extschema@.harel__create_child(text, text, integer, text, text, text)
IS 'Internal. Creates a child execution and returns the event that starts it; NULL where the id is taken.';
REVOKE ALL ON FUNCTION @extschema@.harel__create_child(text, text, integer, text, text, text) FROM PUBLIC;

CREATE FUNCTION @extschema@.harel_finish(
    p_group_ids text[],
    p_tokens uuid[],
    p_defns text[],
    p_datas text[],
    p_olds bigint[],
    p_events text[] DEFAULT NULL,
    p_emit_commits integer[] DEFAULT NULL,
    p_emit_targets text[] DEFAULT NULL,
    p_emit_events text[] DEFAULT NULL,
    p_spawn_commits integer[] DEFAULT NULL,
    p_spawn_children text[] DEFAULT NULL,
    p_spawn_root_paths text[] DEFAULT NULL,
    p_spawn_contexts text[] DEFAULT NULL,
    p_timer_commits integer[] DEFAULT NULL,
    p_timer_actions text[] DEFAULT NULL,
    p_timer_paths text[] DEFAULT NULL,
    p_timer_fire_ats double precision[] DEFAULT NULL,
    p_traces text[] DEFAULT NULL,
    p_trace_max integer DEFAULT NULL,
    p_now double precision DEFAULT NULL
) RETURNS TABLE (group_id text, result text, stored_version integer, outbox_seqs bigint[])
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
DECLARE
    v_now double precision := @extschema@.harel__clock(p_now);
    v_count integer := coalesce(cardinality(p_group_ids), 0);
    v_emit_ends integer[];
    v_spawn_ends integer[];
    v_timer_ends integer[];
    v_tokens jsonb;
    v_done text[] := '{}';
    v_results text[] := '{}';
    v_versions integer[];
    v_seqs bigint[];
    v_seq_starts integer[];
    v_seq_ends integer[];
    v_all_seqs bigint[] := '{}';
    v_priority integer;
    v_start text;
    v_foreign text[];
    v_kept_targets text[];
    v_kept_events text[];
    v_kept_children text[];
    v_kept_root_paths text[];
    v_kept_contexts text[];
    v_sent_groups text[];
    v_sent_events text[];
    v_group_ids text[] := '{}';
    v_events text[] := '{}';
    i integer;
BEGIN
    -- Events and traces may be left out as a whole.
    -- See harel__commit() for why the shape is looked at before the call that speaks of it.
    IF array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_tokens)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_defns)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_datas)
        OR array_dims(p_group_ids) IS DISTINCT FROM array_dims(p_olds)
        OR array_dims(p_group_ids) IS DISTINCT FROM coalesce(array_dims(p_events), array_dims(p_group_ids))
        OR array_dims(p_group_ids) IS DISTINCT FROM coalesce(array_dims(p_traces), array_dims(p_group_ids))
        OR array_ndims(p_group_ids) <> 1
        OR array_lower(p_group_ids, 1) <> 1
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'the messages',
            array_dims(p_group_ids), array_dims(p_tokens), array_dims(p_defns), array_dims(p_datas), array_dims(p_olds),
            coalesce(array_dims(p_events), array_dims(p_group_ids)),
            coalesce(array_dims(p_traces), array_dims(p_group_ids))
        );
    END IF;
    IF p_emit_commits IS NOT NULL OR p_emit_targets IS NOT NULL OR p_emit_events IS NOT NULL THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'emits', array_dims(p_emit_commits), array_dims(p_emit_targets), array_dims(p_emit_events)
        );
        v_emit_ends := @extschema@.harel__ends('emits', p_emit_commits, v_count);
    END IF;
    IF p_spawn_commits IS NOT NULL OR p_spawn_children IS NOT NULL
        OR p_spawn_root_paths IS NOT NULL OR p_spawn_contexts IS NOT NULL
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'spawns',
            array_dims(p_spawn_commits), array_dims(p_spawn_children), array_dims(p_spawn_root_paths),
            array_dims(p_spawn_contexts)
        );
        v_spawn_ends := @extschema@.harel__ends('spawns', p_spawn_commits, v_count);
    END IF;
    IF p_timer_commits IS NOT NULL OR p_timer_actions IS NOT NULL
        OR p_timer_paths IS NOT NULL OR p_timer_fire_ats IS NOT NULL
    THEN
        PERFORM @extschema@.harel__check_list(
            NULL, 'timers',
            array_dims(p_timer_commits), array_dims(p_timer_actions), array_dims(p_timer_paths),
            array_dims(p_timer_fire_ats)
        );
        v_timer_ends := @extschema@.harel__ends('timers', p_timer_commits, v_count);
    END IF;

    IF @extschema@.harel__is_distributed() THEN
        RETURN QUERY
        SELECT * FROM @extschema@.harel__everywhere_finish(
            p_group_ids, p_tokens, p_defns, p_datas, p_olds, p_events, v_emit_ends, p_emit_targets, p_emit_events,
            v_spawn_ends, p_spawn_children, p_spawn_root_paths, p_spawn_contexts,
            v_timer_ends, p_timer_actions, p_timer_paths, p_timer_fire_ats, p_traces, p_trace_max, v_now
        );
        RETURN;
    END IF;

    -- Locks are taken in this order, by all who take several: executions, then groups, each by id, then what hangs on
    -- an execution. The groups are those settled and those published to: two executions that send to each other would
    -- otherwise wait for each other.
    PERFORM FROM @extschema@.executions e WHERE e.id = ANY (p_group_ids) ORDER BY e.id FOR NO KEY UPDATE;
    v_tokens := (
        SELECT jsonb_object_agg(l.group_id, l.token) FILTER (WHERE l.available_at > v_now)
        FROM (
            SELECT g.group_id, g.token, g.available_at
            FROM @extschema@.transport_groups g
            WHERE g.group_id = ANY (p_group_ids || p_emit_targets)
            ORDER BY g.group_id
            FOR UPDATE
        ) l
    );

    -- What is for another shard is left to whoever moves it there.
    IF (v_emit_ends IS NOT NULL OR v_spawn_ends IS NOT NULL)
        AND pg_sequence_last_value('@extschema@.shards_joined') IS NOT NULL
    THEN
        v_foreign := ARRAY(
            SELECT f.id
            FROM unnest(
                p_emit_targets || p_spawn_children,
                @extschema@.harel__elsewhere(p_emit_targets || p_spawn_children)
            ) AS f (id, shard)
            WHERE f.shard IS NOT NULL
        );
    END IF;

    FOR i IN
        SELECT b.place FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
        ORDER BY b.id COLLATE "C", b.place
    LOOP
        v_seq_starts[i] := cardinality(v_all_seqs) + 1;
        v_seq_ends[i] := cardinality(v_all_seqs);
        IF p_group_ids[i] IS NULL OR p_tokens[i] IS NULL THEN
            PERFORM @extschema@.harel__refuse_lease(p_group_ids[i]);
        END IF;
        IF v_tokens ->> p_group_ids[i] IS DISTINCT FROM p_tokens[i]::text OR p_group_ids[i] = ANY (v_done) THEN
            v_results[i] := 'expired';
            CONTINUE;
        END IF;
        IF p_datas[i] IS NOT NULL THEN
            v_kept_targets := NULL;
            v_kept_events := NULL;
            v_kept_children := NULL;
            v_kept_root_paths := NULL;
            v_kept_contexts := NULL;
            v_sent_groups := NULL;
            v_sent_events := NULL;
            FOR e IN coalesce(v_emit_ends[i - 1], 0) + 1 .. coalesce(v_emit_ends[i], 0) LOOP
                -- What the same source has left in the outbox for this target must not be overtaken.
                IF p_emit_targets[e] IS NULL OR p_emit_targets[e] = ANY (v_foreign) OR EXISTS (
                    SELECT FROM @extschema@.outbox o
                    WHERE o.target_id = p_emit_targets[e] AND o.source_id = p_group_ids[i]
                ) THEN
                    v_kept_targets := v_kept_targets || p_emit_targets[e];
                    v_kept_events := v_kept_events || p_emit_events[e];
                ELSE
                    IF p_emit_events[e] IS NULL THEN
                        PERFORM @extschema@.harel__refuse_item(p_group_ids[i], 'emits', e);
                    ELSIF octet_length(p_emit_targets[e]) NOT BETWEEN 1 AND 1000 THEN
                        PERFORM @extschema@.harel__refuse_key(p_group_ids[i], 'target id', p_emit_targets[e]);
                    END IF;
                    v_sent_groups := v_sent_groups || p_emit_targets[e];
                    v_sent_events := v_sent_events || p_emit_events[e];
                END IF;
            END LOOP;
            IF v_foreign <> '{}' THEN
                FOR s IN coalesce(v_spawn_ends[i - 1], 0) + 1 .. coalesce(v_spawn_ends[i], 0) LOOP
                    IF p_spawn_children[s] = ANY (v_foreign) THEN
                        v_kept_children := v_kept_children || p_spawn_children[s];
                        v_kept_root_paths := v_kept_root_paths || p_spawn_root_paths[s];
                        v_kept_contexts := v_kept_contexts || p_spawn_contexts[s];
                    END IF;
                END LOOP;
            END IF;
            v_seqs := @extschema@.harel__commit(
                p_group_ids[i], p_defns[i], p_datas[i], p_olds[i], p_events[i],
                v_kept_targets, v_kept_events, v_kept_children, v_kept_root_paths, v_kept_contexts,
                p_timer_actions[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_timer_paths[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_timer_fire_ats[coalesce(v_timer_ends[i - 1], 0) + 1:v_timer_ends[i]],
                p_traces[i], p_trace_max
            );
            IF v_seqs IS NULL THEN
                v_results[i] := 'conflict';
                v_versions[i] := (SELECT x.version FROM @extschema@.executions x WHERE x.id = p_group_ids[i]);
                CONTINUE;
            END IF;
            v_versions[i] := p_olds[i] + 1;
            v_all_seqs := v_all_seqs || v_seqs;
            v_seq_ends[i] := cardinality(v_all_seqs);
            FOR s IN coalesce(v_spawn_ends[i - 1], 0) + 1 .. coalesce(v_spawn_ends[i], 0) LOOP
                IF p_spawn_root_paths[s] IS NULL OR p_spawn_contexts[s] IS NULL THEN
                    PERFORM @extschema@.harel__refuse_item(p_group_ids[i], 'spawns', s);
                END IF;
                CONTINUE WHEN p_spawn_children[s] = ANY (v_foreign);
                v_priority := (SELECT x.priority FROM @extschema@.executions x WHERE x.id = p_group_ids[i]);
                v_start := @extschema@.harel__create_child(
                    p_group_ids[i], p_defns[i], v_priority,
                    p_spawn_children[s], p_spawn_root_paths[s], p_spawn_contexts[s]
                );
                IF v_start IS NOT NULL THEN
                    v_group_ids := v_group_ids || p_spawn_children[s];
                    v_events := v_events || v_start;
                END IF;
            END LOOP;
            v_group_ids := v_group_ids || v_sent_groups;
            v_events := v_events || v_sent_events;
        END IF;
        v_results[i] := 'finished';
        v_done := v_done || p_group_ids[i];
    END LOOP;

    IF v_group_ids <> '{}' THEN
        PERFORM @extschema@.harel__enqueue(v_group_ids, v_events, NULL, v_now);
    END IF;
    IF v_done <> '{}' AND @extschema@.harel__settle(v_done, v_now) THEN
        PERFORM @extschema@.harel__wake();
    END IF;
    RETURN QUERY
    SELECT b.id, v_results[b.place], v_versions[b.place], v_all_seqs[v_seq_starts[b.place]:v_seq_ends[b.place]]
    FROM unnest(p_group_ids) WITH ORDINALITY AS b (id, place)
    ORDER BY b.place;
END
$$;
COMMENT ON FUNCTION @extschema@.harel_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) IS
'Settles leased messages, each with its commit, in one call and one transaction; one row for each, in the order '
'given. finished: the step was committed as by harel_commit(), its events with a target stand in the queue, its '
'children exist (PENDING, with a Start event), and the message is gone. Without data there is no step, and the '
'message only goes. conflict: another commit was first; nothing was written, and the lease still holds. expired: the '
'lease is over, and nothing was written. The items of all commits stand in flat lists, as for harel_commit_batch(). '
'Broadcasts go to the outbox, as do events to a target for which the source has others there, or that belongs to '
'another shard, as does a child, which then stays in the spawns; outbox_seqs has the seqs of what went to the outbox. '
'Raises ST001 to ST006, and then nothing is settled.';
REVOKE ALL ON FUNCTION @extschema@.harel_finish(
    text[], uuid[], text[], text[], bigint[], text[], integer[], text[], text[], integer[], text[], text[], text[],
    integer[], text[], text[], double precision[], text[], integer, double precision
) FROM PUBLIC;
