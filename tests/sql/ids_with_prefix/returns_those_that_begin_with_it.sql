SELECT plan(6);

DO $$
BEGIN
    PERFORM harel_commit_cas(id, 'd',
    '{}', 0) FROM unnest('{order/2,order/10,order,orders,order/1/x,ord,Order/1,x/order/1}'::text[]) id;
END
$$;

SELECT is(ARRAY(SELECT harel_ids_with_prefix('order/')), '{order/1/x,order/10,order/2}', 'in the order of their bytes');
SELECT is(
    ARRAY(SELECT harel_ids_with_prefix('order')), '{order,order/1/x,order/10,order/2,orders}', 'also the prefix itself'
);
SELECT is(ARRAY(SELECT harel_ids_with_prefix('order/2')), '{order/2}', 'a whole id');
SELECT is_empty($$SELECT harel_ids_with_prefix('order/3')$$, 'none');
SELECT is_empty($$SELECT harel_ids_with_prefix('zzz')$$, 'none behind the last');
SELECT is_empty($$SELECT harel_ids_with_prefix('order/2 and more')$$, 'none for what is longer than an id');

SELECT * FROM finish();
