SELECT plan(2);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, id, '{"status": "RUNNING"}', 0) FROM unnest('{a,b,c}'::text[]) id;
    PERFORM harel_publish(id, 'ev') FROM unnest('{a,b,c}'::text[]) id;
    PERFORM harel_next('w', 3600, 3);
    PERFORM harel_suspend_all('a');
END
$$;

SELECT is(
    ARRAY(SELECT group_id FROM transport_groups WHERE available_at = 'Infinity' AND token IS NULL), '{a}',
    'of those that match'
);
SELECT is(
    ARRAY(SELECT group_id FROM transport_groups WHERE token IS NOT NULL ORDER BY group_id), '{b,c}',
    'the others stay leased'
);

SELECT * FROM finish();
