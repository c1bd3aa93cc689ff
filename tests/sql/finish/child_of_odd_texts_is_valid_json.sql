SELECT plan(8);

DO $$
BEGIN
    PERFORM harel_commit_cas(E'p"\\\n', E'd"\\\té', '{}', 0);
    PERFORM harel_publish(E'p"\\\n', 'ev', p_now => 100);
END
$$;
CREATE TEMP TABLE lease AS SELECT * FROM harel_next('w', 30, p_now => 100);
CREATE TEMP TABLE answer AS SELECT f.* FROM lease l, harel_finish(
    ARRAY[l.group_id], ARRAY[l.token], ARRAY[l.definition_id], '{1}', '{1}',
    p_spawn_commits => '{1}', p_spawn_children => ARRAY[E'c"\\\u0001日本'], p_spawn_root_paths => ARRAY[E'"},{\\'],
    p_spawn_contexts => ARRAY['{"a": "\u0000 \ud83d", "n": 1e999999}'], p_now => 101
) f;
-- On several nodes the relay moves what is sent.
DO $$ BEGIN PERFORM harel_relay_spawns(p_now => 101), harel_relay(p_now => 101) WHERE harel__is_distributed(); END $$;
CREATE TEMP TABLE child AS SELECT *, replace(replace(data, '\u0000', ''), '\ud83d', '')::json AS json FROM executions
WHERE status = 'PENDING';

SELECT is((SELECT json ->> 'id' FROM child), E'c"\\\u0001日本', 'the id');
SELECT is((SELECT json ->> 'child_id' FROM child), E'c"\\\u0001日本', 'the id as a child');
SELECT is((SELECT json ->> 'definition_id' FROM child), E'd"\\\té', 'the definition');
SELECT is((SELECT json ->> 'root_path' FROM child), E'"},{\\', 'the root path');
SELECT is((SELECT json ->> 'parent_id' FROM child), E'p"\\\n', 'the parent');
SELECT is((SELECT parent_id FROM child), E'p"\\\n', 'also beside the data');
SELECT ok((SELECT strpos(data, '{"a": "\u0000 \ud83d", "n": 1e999999}') > 0 FROM child), 'the context, byte for byte');
SELECT is(ARRAY(SELECT group_id FROM transport_messages), ARRAY[E'c"\\\u0001日本'], 'and the message is for it');

SELECT * FROM finish();
