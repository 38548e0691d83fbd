import { expect, it } from 'vitest'
import { scanColumns } from '../../../src/services/iceberg-rest/scan-columns.ts'
import { describeReaders } from '../../../src/services/iceberg-rest/table-readers.ts'
import { createTableReports } from '../../../src/services/iceberg-rest/table-reports.ts'
import { createTableReportStore } from '../../../src/storage/stores/tables/report-store.ts'
import { describeDatabases } from '../../storage/open.ts'

const DAY_MS = 86_400_000

/** A scan report as Java clients send it. */
const scan = (columns: readonly string[], filter: object | boolean = true) => ({
  'report-type': 'scan-report',
  'snapshot-id': 1,
  filter,
  'projected-field-names': columns,
  metrics: {},
})

it('the columns of a scan are those of its projection, and all that its filter names', () => {
  const eq = (term: unknown) => ({ type: 'eq', term, value: '(hash-1)' })
  const filter = {
    type: 'and',
    left: { type: 'not', child: { type: 'in', term: 'a.b', values: [1] } },
    right: { type: 'or', left: eq({ type: 'transform', transform: 'day', term: 'at' }), right: eq('a.b') },
  }
  const found = scanColumns({ ...scan(['id', 'a.b', 'id', 'x\u0000', '']), filter } as never)
  expect(found.columns).toEqual(['id', 'a.b'])
  expect(found.filterColumns.toSorted()).toEqual(['a.b', 'at'])
})

it('a report without columns, of another shape or too deep has none', () => {
  let deep: object = { type: 'is-null', term: 'deep' }
  for (let at = 0; at < 20_000; at += 1) deep = { type: 'not', child: deep }
  expect(scanColumns({ ...scan([]), filter: deep } as never).filterColumns).toEqual(['deep'])
  for (const odd of [{}, { 'projected-field-names': 'id', filter: 'id' }, { 'projected-field-names': [1, null] }]) {
    expect(scanColumns(odd as never)).toEqual({ columns: [], filterColumns: [] })
  }
})

it('readers have their columns with the latest read, most read first', () => {
  const row = (reported_by: string, day: number, report: object) => ({
    reported_by,
    report_json: JSON.stringify(report),
    created_at: `2026-11-0${day}T00:00:00.000Z`,
  })
  const rows = [row('ana', 4, scan(['id', 'v'])), row('bo', 3, scan(['id'])), row('ana', 2, scan(['v']))]
  const [ana, bo] = describeReaders(rows)
  expect(ana).toEqual({
    user: 'ana',
    scan_count: 2,
    last_read_at: '2026-11-04T00:00:00.000Z',
    columns: [
      { column: 'v', scan_count: 2, last_read_at: '2026-11-04T00:00:00.000Z' },
      { column: 'id', scan_count: 1, last_read_at: '2026-11-04T00:00:00.000Z' },
    ],
    filter_columns: [],
  })
  expect(bo).toMatchObject({ user: 'bo', scan_count: 1 })
})

describeDatabases('table readers', (databases) => {
  it('a busy reader does not remove the scans of others, which end after 90 days', async () => {
    const db = await databases.open()
    let nowMs = Date.parse('2026-01-01T00:00:00Z')
    let ids = 0
    const now = () => new Date(nowMs)
    const newId = () => `rep-${String((ids += 1)).padStart(9, '0')}`
    const reports = createTableReports({ store: createTableReportStore(db), newId, now })
    const read = async (user: string, times: number) => {
      const context = { caller: { user } } as never
      for (let at = 0; at < times; at += 1) {
        nowMs += 1000
        await reports.add('s.t', scan(['id']) as never, context)
      }
    }
    await read('ana', 12)
    await read('bot', 120)
    const found = (await reports.readers('s.t', {})).readers
    expect(found.map(({ user, scan_count }) => [user, scan_count])).toEqual([
      ['bot', 100],
      ['ana', 10],
    ])
    const first = await reports.readers('s.t', { page_size: 1 })
    const second = await reports.readers('s.t', { page_size: 1, page_token: first.next_page_token ?? '' })
    expect(second.readers).toEqual(found.slice(1))
    expect((await reports.list('s.t', {})).reports).toHaveLength(110)
    nowMs += 91 * DAY_MS
    await read('bot', 1)
    expect((await reports.readers('s.t', {})).readers.map(({ user }) => user)).toEqual(['bot'])
    expect((await reports.list('s.t', {})).reports).toHaveLength(100)
  })
})
