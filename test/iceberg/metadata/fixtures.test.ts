import { readdirSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

import { stringifyJson } from '../../../src/iceberg/json/lossless-json.ts'
import {
  currentSchema,
  currentSpec,
  parseTableMetadata,
  serializeTableMetadata,
} from '../../../src/iceberg/metadata/metadata.ts'
import { partitionType } from '../../../src/iceberg/partitioning/partitioning.ts'
import { walkFields } from '../../../src/iceberg/schema/schema.ts'
import { applyUpdates } from '../../../src/iceberg/update/apply/apply-updates.ts'
import { addColumn } from '../../../src/iceberg/update/apply/schema-update.ts'
import { valueFromJson } from '../../../src/iceberg/values/values.ts'
import { isNested } from '../../../src/iceberg/schema/types.ts'
import type { JsonValue } from '../../../src/iceberg/json/lossless-json.ts'
import { fixtureBytes, fixturesRoot, haveFixtures } from '../../support/iceberg-fixtures.ts'

const files = haveFixtures
  ? readdirSync(fixturesRoot, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('metadata.json'))
  : []

describe.skipIf(!haveFixtures)('metadata of real tables', () => {
  it('is present', () => {
    expect(files.length).toBeGreaterThan(150)
  })

  it('is read and written back without loss', () => {
    for (const file of files) {
      const metadata = parseTableMetadata(fixtureBytes(file))
      const again = parseTableMetadata(serializeTableMetadata(metadata))
      expect([file, stringifyJson(again.json)]).toEqual([file, stringifyJson(metadata.json)])
      expect([file, partitionType(currentSpec(metadata), metadata.schemas).length]).toEqual([
        file,
        currentSpec(metadata).fields.length,
      ])
    }
  })

  it('has default values that can be read', () => {
    let defaults = 0
    for (const file of files) {
      const metadata = parseTableMetadata(fixtureBytes(file))
      for (const { field } of metadata.schemas.flatMap((schema) => [...walkFields(schema)])) {
        if (field.initialDefault === undefined || isNested(field.type)) continue
        valueFromJson(field.type, field.initialDefault as JsonValue)
        defaults += 1
      }
    }
    expect(defaults).toBeGreaterThan(10)
  })

  it('can be evolved in every format version', () => {
    for (const file of files) {
      const before = parseTableMetadata(fixtureBytes(file))
      const change = addColumn(before, { name: 'added_by_test', type: { kind: 'string' } })
      const after = applyUpdates(before, change.updates, { nowMs: Date.now(), previousMetadataLocation: file })
      const reread = parseTableMetadata(serializeTableMetadata(after))
      expect([file, currentSchema(reread).fields.at(-1)?.name]).toEqual([file, 'added_by_test'])
      expect([file, reread.formatVersion, reread.snapshots]).toEqual([file, before.formatVersion, before.snapshots])
      expect([file, reread.lastColumnId]).toEqual([file, change.fieldId])
      if (before.formatVersion === 1)
        expect([file, 'schema' in reread.json, 'partition-spec' in reread.json]).toEqual([file, true, true])
    }
  })
})
