import { DuckDBInstance } from '@duckdb/node-api'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sqlLiteral } from '../../../src/streaming/graph/parameter-text.ts'
import { MARK, sqlPlaces } from '../../../src/streaming/graph/sql-places.ts'
import { LONG, runs } from '../../support/effort.ts'

const PIECES = `' " $$ $a$ -- /* */ E E' e x U& N' \\ 1 . a b = || ( ) , - é DATE FROM AS AND 1e $ ; :: @`
  .split(' ')
  .flatMap((piece) => [piece, ` ${piece} `])
  .concat('\n', '\r', ' ', '\u00a0', ' @ ')

const placesOf = (text: string): readonly string[] => sqlPlaces(text.replaceAll('@', MARK))

describe('places in SQL', () => {
  it.each([
    ['a > @', 'value'],
    ['(@)', 'value'],
    ['f(@, @)', 'value value'],
    ['-@ + @', 'value value'],
    ["'it''s' = @", 'value'],
    ["'a\\' = @", 'value'],
    ["E'a\\' @ ' = @", 'string value'],
    ["e'\\\\' = @", 'value'],
    ["date'@' < @", 'string value'],
    ["x'@' n'@' b'@'", 'string string string'],
    ["'@", 'string'],
    ["E'\\@", 'string'],
    ['"a""@" = @', 'name value'],
    ['"@', 'name'],
    ['$$ @ $$ = @', 'dollar-quoted value'],
    ['$a$ @ $$ @ $b$ @ $a$ = @', 'dollar-quoted dollar-quoted dollar-quoted value'],
    ['$a$ @', 'dollar-quoted'],
    ['a$$ = @', 'value'],
    ["a -- @ ' \n = @", 'comment value'],
    ['a -- @\r= @', 'comment value'],
    ['a /* @ /* @ */ @ */ = @', 'comment comment comment value'],
    ['/* @', 'comment'],
    ['/*/ @ */ @', 'comment value'],
    ['5 */* @ */ @', 'comment value'],
    ['a@', 'adjacent'],
    ['@a', 'adjacent'],
    ['E@', 'adjacent'],
    ['5@', 'adjacent'],
    ["'a'@", 'adjacent'],
    ["@'a'", 'adjacent'],
    ['t.@', 'adjacent'],
    ['@.t', 'adjacent'],
    ['@@', 'adjacent adjacent'],
    ['$@', 'adjacent'],
    ['U&@', 'adjacent'],
    ['#@', 'adjacent'],
    ['é@', 'adjacent'],
    ["E'a'\n'\\' @", 'unclear'],
    ["1E'\\' @ ' @", 'string unclear'],
    ["éE'\\' @", 'unclear'],
    ['\u00a0 @', 'unclear'],
    ['1$$ @ $$ @', 'dollar-quoted unclear'],
    ['1.5e-3 + 0xFF + 1_000 + .5 < @', 'value'],
    ['[1][@] || @::TEXT', 'value value'],
  ])('%j: %s', (text, places) => {
    expect(placesOf(text).join(' ')).toBe(places)
  })

  it('a value never changes how DuckDB reads the SQL around it', LONG, async () => {
    const connection = await (await DuckDBInstance.create(':memory:')).connect()
    const treeOf = async (sql: string): Promise<string> => {
      const rows = await connection.runAndReadAll('SELECT json_serialize_sql($sql::VARCHAR)', { sql })
      return String(rows.getRows()[0]?.[0])
    }
    const piece = fc.constantFrom(...PIECES)
    const hostile = [`' OR 1=1 --`, `\\' OR 1=1 --`, `'); DROP TABLE t; --`, `*/ 1 /*`, `$$ $a$`, `"`, `\n'`]
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 14 }), fc.constantFrom(...hostile), async (pieces, value) => {
        const text = `SELECT ${pieces.join('')}`
        const places = placesOf(text)
        if (places.length === 0 || places.some((place) => place !== 'value')) return
        const plain = await treeOf(text.replaceAll('@', () => sqlLiteral('plain')))
        const bad = await treeOf(text.replaceAll('@', () => sqlLiteral(value)))
        const shape = (tree: string, of: string): string =>
          tree.replaceAll(JSON.stringify(of), '"?"').replaceAll(/"query_location":\d+|"position":"\d+"/g, '')
        if (JSON.parse(plain).error === true) {
          expect(JSON.parse(bad).error).toBe(true)
          return
        }
        accepted++
        expect(shape(bad, value)).toBe(shape(plain, 'plain'))
        expect(bad.split(JSON.stringify(value)).length).toBeGreaterThan(places.length)
      }),
      { numRuns: runs(20_000) },
    )
    expect(accepted).toBeGreaterThan(10)
  })
})
