import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

import { humanValue } from '../../../src/iceberg/partitioning/human-value.ts'
import { isJsonObject } from '../../../src/iceberg/json/json-fields.ts'
import { parseJson, stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import type { JsonObject, JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import { partitionPath } from '../../../src/iceberg/partitioning/partitioning.ts'
import { applyTransform, parseTransform, transformResultType } from '../../../src/iceberg/partitioning/transforms.ts'
import { parseType, requirePrimitive, typeToJson } from '../../../src/iceberg/schema/type-json.ts'
import type { PrimitiveType, Value } from '../../../src/iceberg/schema/types.ts'
import { bytesToHex, hexToBytes } from '../../../src/iceberg/values/binary.ts'
import { truncateLower, truncateUpper, valueFromBytes, valueFromJson } from '../../../src/iceberg/values/values.ts'
import { valueKey, valueToBytes, valueToJson } from '../../../src/iceberg/values/values.ts'

const file = new URL('../../fixtures/iceberg-values/values.json', import.meta.url)
const parsed = parseJson(readFileSync(file))
const cases = (Array.isArray(parsed) ? parsed : []).filter(isJsonObject)

/** Floating-point numbers and tiny decimals have another text in Java (`1.0E7`), with the same meaning. */
const textsDiffer: ReadonlySet<string> = new Set(['float', 'double', 'decimal(38, 10)'])

function read(entry: JsonObject): { type: PrimitiveType; value: Value; text: string } {
  const text = textOf(entry, 'type')
  const type = requirePrimitive(parseType(text), 'fixture')
  return { type, value: valueFromJson(type, entry['value'] ?? null), text }
}

function textOf(entry: JsonObject, key: string): string {
  return stringifyJson(entry[key] ?? null).replaceAll('"', '')
}

function keyOf(type: PrimitiveType, json: JsonValue | undefined): string {
  return json === null || json === undefined ? 'null' : valueKey(type, valueFromJson(type, json))
}

describe('values against the Java implementation', () => {
  it('has cases for every type', () => {
    expect(new Set(cases.map((entry) => entry['type'])).size).toBe(17)
  })

  it('serialises to the same bytes, and back', () => {
    for (const entry of cases) {
      const { type, value } = read(entry)
      expect([entry['type'], bytesToHex(valueToBytes(type, value))]).toEqual([entry['type'], entry['bytes']])
      expect(valueKey(type, valueFromBytes(type, hexToBytes(textOf(entry, 'bytes'))))).toBe(valueKey(type, value))
    }
  })

  it('writes equivalent JSON', () => {
    for (const entry of cases) {
      const { type, value } = read(entry)
      expect(valueKey(type, valueFromJson(type, valueToJson(type, value)))).toBe(valueKey(type, value))
    }
  })

  it('transforms to the same values, types and texts', () => {
    let checked = 0
    for (const entry of cases) {
      const { type, value, text } = read(entry)
      const results = isJsonObject(entry['results']) ? entry['results'] : {}
      for (const [name, expected] of Object.entries(results)) {
        const [json, human, resultText] = Array.isArray(expected) ? expected : []
        const transform = parseTransform(name)
        const resultType = transformResultType(transform, type)
        const result = applyTransform(transform, type, value)
        const where = `${name} of ${text} ${textOf(entry, 'value')}`
        expect([where, typeToJson(resultType)]).toEqual([where, resultText])
        expect([where, valueKey(resultType, result)]).toEqual([where, keyOf(resultType, json)])
        if (!textsDiffer.has(text)) expect([where, humanValue(transform, resultType, result)]).toEqual([where, human])
        checked += 1
      }
    }
    expect(checked).toBeGreaterThan(1000)
  })

  it('truncates bounds in the same way', () => {
    const truncated = cases.filter((entry) => entry['length'] !== undefined)
    expect(truncated.length).toBe(24)
    for (const entry of truncated) {
      const { type, value } = read(entry)
      const length = Number(entry['length'])
      const upper = truncateUpper(type, value, length)
      expect(valueKey(type, truncateLower(type, value, length))).toBe(keyOf(type, entry['lower']))
      expect(upper === undefined ? 'null' : valueKey(type, upper)).toBe(keyOf(type, entry['upper']))
    }
  })

  it('lays out partitions in the same folders', () => {
    const spec = {
      specId: 0,
      fields: [{ fieldId: 1000, sourceId: 1, name: 'c ä/=x', transform: { kind: 'identity' } as const }],
    }
    for (const entry of cases) {
      const { type, value, text } = read(entry)
      if (textsDiffer.has(text) || entry['path'] === undefined) continue
      expect(partitionPath(spec, [type], [value])).toBe(entry['path'])
    }
  })
})
