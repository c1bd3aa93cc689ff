SELECT plan(3);

CREATE TEMP TABLE transport_groups (group_id text);
CREATE TEMP TABLE transport_messages (group_id text);
CREATE SCHEMA other;
SET LOCAL search_path = pg_temp, other, tap;

SELECT lives_ok($$SELECT public.harel_publish('g', 'a', 0, 1)$$, 'tables of the caller are not in the way');
SELECT is((SELECT event FROM public.transport_messages), 'a', 'the message stands in that of the store');
SELECT is((SELECT event FROM public.harel_claim('w', 10, p_now => 2)), 'a', 'and is claimed there');

SELECT * FROM finish();
