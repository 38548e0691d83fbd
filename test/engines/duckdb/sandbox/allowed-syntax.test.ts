import { DuckDBInstance } from '@duckdb/node-api'
import { describe, expect, it } from 'vitest'
import { createLocalSandbox } from '../../../../src/engines/duckdb/sandbox/local-sandbox.ts'
import { requireHarmless } from '../../../../src/engines/duckdb/sandbox/user-sql.ts'

/** Statements that use the syntax of ordinary work, each with the relation `t`. */
const ORDINARY: readonly string[] = [
  "SELECT a, t.b, s.x.y, *, t.*, * EXCLUDE (a), * REPLACE (a+1 AS a), * RENAME (a AS b), COLUMNS('x.*'), COLUMNS(*), COLUMNS(c -> c LIKE 'a%'), * LIKE 'x%', * EXCLUDE (t.a) FROM t",
  'SELECT unpack(COLUMNS(*)), *COLUMNS(*) FROM t',
  'SELECT count(*), count(DISTINCT a), sum(a) FILTER (WHERE b), list(a ORDER BY b DESC NULLS LAST) FROM t GROUP BY a, b HAVING count(*)>1 ORDER BY ALL LIMIT 10 OFFSET 5',
  'SELECT count(*) FROM t GROUP BY GROUPING SETS ((a), (b), ()), ROLLUP (a), CUBE (a,b)',
  'SELECT sum(a) OVER (PARTITION BY b ORDER BY c ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES), lag(a, 1, 0) OVER w, lag(a IGNORE NULLS) OVER w, first(a ORDER BY b) OVER w, row_number() OVER (), ntile(4) OVER w, rank(ORDER BY a) OVER w, dense_rank() OVER w, rank_dense() OVER w, percent_rank() OVER w, cume_dist() OVER w, first_value(a) OVER w, last_value(a) OVER w, nth_value(a,2) OVER w, lead(a) OVER w, last(a) OVER w, fill(a) OVER w, count(*) OVER w, sum(DISTINCT a) OVER w, sum(a) FILTER (WHERE a > 1) OVER w FROM t WINDOW w AS (ORDER BY c RANGE BETWEEN INTERVAL 1 DAY PRECEDING AND UNBOUNDED FOLLOWING) QUALIFY 1=1',
  'SELECT sum(a) OVER (ORDER BY c ROWS UNBOUNDED PRECEDING EXCLUDE CURRENT ROW), sum(a) OVER (ORDER BY c RANGE CURRENT ROW EXCLUDE GROUP), sum(a) OVER (ORDER BY c RANGE BETWEEN CURRENT ROW AND 1 FOLLOWING), sum(a) OVER (ORDER BY c ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING), sum(a) OVER (ORDER BY c GROUPS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING), sum(a) OVER (ORDER BY c GROUPS CURRENT ROW) FROM t',
  'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY b), mode() WITHIN GROUP (ORDER BY a) FROM t',
  'SELECT a::INT8, a::timestamp_ns, a::TIMESTAMP_S, a::VARCHAR(10), a::NUMERIC, a::STRUCT(a INT)[], a::INT[][3], a::BIGNUM, a::TIME_NS, a::CHAR, a::ROW(a INT), a::INT128, a::UINT128, a::STRING, a::TEXT, a::DATETIME FROM t',
  '(SELECT 1 UNION ALL SELECT 2) ORDER BY 1 LIMIT 3',
  'SELECT a != b, a < b, a <= b, a IS NOT NULL, a ISNULL, a NOTNULL, a IS UNKNOWN, NOT EXISTS (SELECT 1), a NOT IN (1,2), a <> ALL (SELECT 1), -a, +a, IFNULL(a,b), NULLIF(a,b), IF(a,b,c) FROM t',
  "SELECT (s).b, a[1:2], a[1:2:3], a[:-1], 1::INT, INTERVAL '3 days', INTERVAL 3 DAYS, DATE '2020-01-01', TIME '10:00', TIMESTAMPTZ '2020-01-01', current_date, current_time, localtime, localtimestamp, current_timestamp FROM t",
  'SELECT * FROM t SEMI JOIN t b USING (x)',
  'SELECT * FROM t TABLESAMPLE 10%',
  'SELECT * FROM t TABLESAMPLE bernoulli(10%)',
  'SELECT * FROM t USING SAMPLE 10 ROWS (reservoir, 3)',
  "SELECT * FROM t PIVOT (sum(a) AS s, count(*) FOR (b, c) IN (('x', 1), ('y', 2)) d IN ('z') GROUP BY c)",
  "SELECT * FROM t UNPIVOT ((v, w) FOR n IN ((a, b) AS 'x', (c, d)))",
  "SELECT * FROM t UNPIVOT (v FOR n IN (COLUMNS('x.*')))",
  'SELECT lambda x: x + 1',
  'SELECT list_reduce(l, (a, b) -> a + b, 0), list_filter(l, lambda x, i: i > 0) FROM t',
  'SELECT DISTINCT a FROM t',
  'SELECT DISTINCT ON (a) a, b FROM t',
  "SELECT * FROM range(300000000) t(x), json_each('{}'), unnest([1], recursive := true) WITH ORDINALITY",
  "SELECT unnest([1]), unnest({'a':1}, recursive := true, max_depth := 2)",
  'SELECT CAST(ROW(1,2) AS ROW(a INT, b INT)), ARRAY[[1]], a.b.c.d, "x y"."z" FROM t',
  'SELECT GROUPING_ID(a), GROUPING(a,b) FROM t GROUP BY ROLLUP(a,b)',
  'SELECT a FROM t WHERE a = ANY ([1,2])',
  "SELECT TRIM(LEADING 'x' FROM a), CEIL(a), EXTRACT('dow' FROM a), POSITION('a' IN b), SUBSTRING(a FROM 1 FOR 2), a SIMILAR TO 'x', a GLOB 'x', a ~ 'x', a !~ 'x', a ILIKE 'b', a NOT ILIKE 'b' ESCAPE '$', a AT TIME ZONE 'UTC' FROM t",
  "SELECT COLUMNS(* EXCLUDE (a)) + 1, * ILIKE 'a%', * NOT LIKE 'b', * SIMILAR TO 'x', COLUMNS('a')::INT, COLUMNS('(.)') AS '\\1' FROM t",
  "SELECT DECIMAL '1.5', 1.5::DECIMAL, VARCHAR 'x', JSON '{}', BLOB 'x', MAP {}, [], MAP {'a': 1}, {'a': [1]}, [x+1 FOR x IN l IF x>1] FROM t",
  'SELECT a::MAP(VARCHAR, STRUCT(x DECIMAL(10,2)[], y JSON)), a::JSON[] FROM t',
  "SELECT '2020-01-01'::DATE + 1, a::FLOAT4, a::TIMESTAMP(3), a::TIME, a::TIMETZ, a::INTERVAL, a::BIT, a::TINYINT, a::UUID, a::HUGEINT, a::UBIGINT, a::BLOB, a::BOOL FROM t",
  'SELECT a FROM t ORDER BY 1, a COLLATE DE NULLS LAST, a COLLATE NOCASE.NOACCENT',
  'WITH a AS MATERIALIZED (SELECT 1) SELECT * FROM a',
  'WITH a(x) AS NOT MATERIALIZED (SELECT 1) SELECT * FROM a',
  'WITH RECURSIVE r(a, b) USING KEY (a) AS (SELECT 1, 2 UNION SELECT a, b FROM r) SELECT * FROM r',
  'VALUES (1, 2), (3, 4)',
  'SELECT 1 UNION ALL SELECT 2 EXCEPT SELECT 3 UNION ALL BY NAME SELECT 4 INTERSECT SELECT 3',
  "SELECT count(a ORDER BY b, c DESC), string_agg(a, ',' ORDER BY b) FROM t GROUP BY ALL",
  'SELECT a FROM t LIMIT 10%',
  'SELECT a FROM t LIMIT (SELECT 1) OFFSET (SELECT 2)',
  'SELECT * FROM t a JOIN t b USING (x) LEFT JOIN t c ON a.x = c.x RIGHT JOIN t d ON true FULL JOIN t e USING (x) NATURAL JOIN t f ASOF JOIN t g ON a.x >= g.x POSITIONAL JOIN t h CROSS JOIN t i ANTI JOIN t k USING (x)',
  `SELECT a->'b', a->>'b', a->'$.x', json_extract(a, '$.b'), from_json(a, '{"a":"INTEGER","b":["VARCHAR"],"c":{"d":"DECIMAL(10, 2)"}}') FROM t`,
  "SELECT list_aggregate(l, 'sum'), list_aggr(l, 'string_agg', ','), l.list_sum() FROM t",
  "SELECT a ** 2, a // 2, a % 2, a ^ 2, a!, @a, ~a, a & b, a | b, a << 1, xor(a,b), a ^@ 'b', a && b, a @> b, a <@ b, a <-> b FROM t",
  'SELECT CASE WHEN a THEN b ELSE c END, CASE a WHEN 1 THEN 2 END, a NOT BETWEEN 1 AND 2, TRY(a/0), a IS TRUE, a IS DISTINCT FROM b FROM t',
  'SELECT t FROM t',
  'SELECT #1 FROM t',
  'FROM t SELECT a WHERE a IN (SELECT 1) AND EXISTS (SELECT 1) AND (SELECT true)',
  "SELECT a FROM t WHERE a > 16 AND b = x'ff' AND c = E'a\\nb' AND d = $$x$$ AND e < 5_000_000_000",
]

const sandbox = createLocalSandbox()

/** The syntax tree of a text, as DuckDB writes it. */
async function treeOf(text: string): Promise<string> {
  const instance = await DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const statement = await connection.prepare('SELECT json_serialize_sql(?::VARCHAR) AS tree')
  statement.bindVarchar(1, text)
  const [row] = (await statement.runAndReadAll()).getRowObjectsJS()
  connection.closeSync()
  return String(row?.['tree'])
}

function check(tree: string): void {
  requireHarmless({ kind: 'query', text: '', relations: ['t'] }, JSON.parse(tree))
}

describe('the check of user SQL', () => {
  it.each(ORDINARY)('accepts ordinary syntax: %s', async (text) => {
    await expect(sandbox.check({ kind: 'query', text, relations: ['t'] })).resolves.toBeUndefined()
  })

  it('refuses every field that no rule lists, wherever it is', async () => {
    let places = 0
    for (const text of ORDINARY) {
      const tree = await treeOf(text)
      check(tree)
      // the envelope of the answer, and the statement around the query, are not the user's
      const objects = [...tree.matchAll(/\{(?=")/g)].map(({ index }) => index).slice(2)
      for (const at of objects) {
        const newer = `${tree.slice(0, at + 1)}"of_a_newer_engine":true,${tree.slice(at + 1)}`
        expect(() => check(newer), newer.slice(at, at + 80)).toThrow(/of_a_newer_engine|not known|not allowed/)
        places += 1
      }
    }
    expect(places).toBeGreaterThan(1000)
  })

  it('refuses every kind of node that no rule lists', async () => {
    for (const text of ORDINARY) {
      const tree = await treeOf(text)
      for (const { 0: found, index } of tree.matchAll(/"class":"[A-Z_]+"/g)) {
        const newer = `${tree.slice(0, index)}"class":"NEWER"${tree.slice(index + found.length)}`
        expect(() => check(newer), found).toThrow(/newer|"NEWER"|takes/)
      }
      for (const { 0: found, index } of tree.matchAll(/"type":"[A-Z_]+"/g)) {
        const newer = `${tree.slice(0, index)}"type":"NEWER"${tree.slice(index + found.length)}`
        expect(() => check(newer), found).toThrow(/newer|"NEWER"|of this kind/)
      }
    }
  })

  it.each([
    ['SELECT a::POINTER FROM t', 'the type "POINTER" is not allowed here'],
    ['SELECT a::TYPE FROM t', 'the type "TYPE" is not allowed here'],
    ['SELECT first(a) EXPORT_STATE FROM t', 'EXPORT_STATE is not allowed here'],
    ['SELECT finalize(a) FROM t', 'the function finalize is not allowed here'],
    ['SELECT a COLLATE xyzw FROM t', 'the collation "xyzw" is not allowed here'],
    ['SELECT * FROM t AT (VERSION => 1)', 'AT (time travel) is not allowed here'],
    ['DESCRIBE t', 'DESCRIBE, SHOW and SUMMARIZE are not allowed here'],
    ['SELECT * FROM t PIVOT (sum(a) FOR b IN some_enum)', 'PIVOT with an enum is not allowed here'],
    ['SELECT $1', 'parameters are not allowed here'],
  ])('names what it refuses: %s', async (text, message) => {
    await expect(sandbox.check({ kind: 'query', text, relations: ['t'] })).rejects.toThrow(message)
  })

  it('accepts only parameters that the service binds', async () => {
    const sql = { kind: 'expression', relations: [], parameters: ['lockhouse_secret_0'] } as const
    await sandbox.check({ ...sql, text: 'a = $lockhouse_secret_0' })
    await expect(sandbox.check({ ...sql, text: 'a = $lockhouse_secret_1' })).rejects.toThrow(
      'parameters are not allowed',
    )
    // a text that is not known must not become a format, a size or the name of an aggregate
    for (const text of [
      'printf($lockhouse_secret_0, a)',
      'replace(a, a, $lockhouse_secret_0)',
      'list_aggregate([1], $lockhouse_secret_0)',
      'from_json(a, $lockhouse_secret_0)',
    ])
      await expect(sandbox.check({ ...sql, text }), text).rejects.toThrow(/constant/)
  })
})
