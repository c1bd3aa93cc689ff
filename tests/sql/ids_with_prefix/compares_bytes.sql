SELECT plan(7);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd', '{}', 0) FROM unnest(
        ARRAY['é', 'éa', 'éz', 'e', 'e' || chr(769), 'É', 'ê', 'ë', '日本', '日本語', '日月', '𝄞1', '𝄞']
        || ARRAY[chr(1114111) || 'x', 'ß', 'ss', 'Z', 'a']
    ) id;
END
$$;

SELECT is(ARRAY(SELECT harel_ids_with_prefix('é')), '{é,éa,éz}', 'an accent is part of its letter');
SELECT is(ARRAY(SELECT harel_ids_with_prefix('e')), ARRAY['e', 'e' || chr(769)], 'or a character of its own');
SELECT is(ARRAY(SELECT harel_ids_with_prefix('日本')), '{日本,日本語}', 'three bytes');
SELECT is(ARRAY(SELECT harel_ids_with_prefix('𝄞')), '{𝄞,𝄞1}', 'four');
SELECT is(ARRAY(SELECT harel_ids_with_prefix(chr(1114111))), ARRAY[chr(1114111) || 'x'], 'the last character there is');
SELECT is(ARRAY(SELECT harel_ids_with_prefix('ss')), '{ss}', 'no letter stands for two');
SELECT is(
    ARRAY(SELECT harel_ids_with_prefix('')), ARRAY(SELECT id FROM executions ORDER BY convert_to(id, 'UTF8')),
    'the order is that of the bytes'
);

SELECT * FROM finish();
