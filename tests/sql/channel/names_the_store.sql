SELECT plan(3);

SELECT is(
    harel_channel(), 'harel_' || 'public'::regnamespace::oid, 'by its schema, of which a database can have several'
);
SELECT is(quote_ident(harel_channel()), harel_channel(), 'LISTEN takes it without quotes');
SET LOCAL search_path = tap;
SELECT is(public.harel_channel(), 'harel_' || 'public'::regnamespace::oid, 'whatever the search path');

SELECT * FROM finish();
