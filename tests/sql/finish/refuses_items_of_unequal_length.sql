SELECT plan(14);

CREATE TEMP TABLE lease AS SELECT gen_random_uuid() AS token;
PREPARE finish AS SELECT harel_finish(
    '{a}', (SELECT ARRAY[token] FROM lease), '{d}', '{1}',
    '{1}', NULL, $1::int[], $2::text[], $3::text[], $4::int[], $5::text[],
    $6::text[], $7::text[], $8::int[], $9::text[], $10::text[], $11::float8[]
);

SELECT throws_ok(format('EXECUTE finish(%s)', args), 'ST004', NULL, name) FROM (
    VALUES
    ('more positions than events', $$'{1,1}', '{x}', '{a}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('no positions for an event', $$NULL, '{x}', '{a}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('fewer targets than events', $$'{1,1}', '{x}', '{a,b}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('more targets than events', $$'{1}', '{x,y}', '{a}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('targets without events', $$'{1}', '{x}', NULL, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('positions alone', $$'{1}', NULL, NULL, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}'$$),
    ('more root paths than children', $$'{}', '{}', '{}', '{1}', '{c}', '{p,p}', '{1}', '{}', '{}', '{}', '{}'$$),
    ('no positions for a child', $$'{}', '{}', '{}', NULL, '{c}', '{p}', '{1}', '{}', '{}', '{}', '{}'$$),
    ('children without contexts', $$'{}', '{}', '{}', '{1}', '{c}', '{p}', NULL, '{}', '{}', '{}', '{}'$$),
    ('contexts alone', $$'{}', '{}', '{}', NULL, NULL, NULL, '{1}', '{}', '{}', '{}', '{}'$$),
    ('more paths than timer actions', $$'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{1}', '{cancel}', '{t,u}', '{1}'$$),
    ('a timer without a time', $$'{}', '{}', '{}', '{}', '{}', '{}', '{}', '{1}', '{schedule}', '{t}', '{}'$$),
    ('times alone', $$'{}', '{}', '{}', '{}', '{}', '{}', '{}', NULL, NULL, NULL, '{1}'$$),
    ('no positions for a timer', $$'{}', '{}', '{}', '{}', '{}', '{}', '{}', NULL, '{cancel}', '{t}', '{1}'$$)
) AS v (name, args);

SELECT * FROM finish();
