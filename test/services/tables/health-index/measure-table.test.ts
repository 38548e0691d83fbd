import { expect, it } from 'vitest'
import { unreadRow } from '../../../../src/services/tables/health-index/measure-table.ts'
import { indexRow } from '../../../support/index-row.ts'

it('a table that cannot be read keeps its samples and counted commits', () => {
  const before = indexRow('demo.t', { sequence_number: 7, newest_snapshot_ms: 1_700_000_000_000 })
  const measured = { name: 'demo.t', namespace: 'demo', measuredAt: '2026-01-02T00:00:00.000Z', before }
  expect(unreadRow(measured, 'mem:/2.metadata.json', 'it is gone')).toMatchObject({
    score: null,
    table_uuid: before.table_uuid,
    sequence_number: 7,
    newest_snapshot_ms: 1_700_000_000_000,
  })
})
