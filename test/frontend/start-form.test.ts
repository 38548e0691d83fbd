import { describe, expect, it } from 'vitest'
import { validateForm } from '../../frontend/src/components/form/form-schema.ts'
import {
  EMPTY_START_FORM,
  fieldErrorsOf,
  isShown,
  lacksChanges,
  proposeCheckpoint,
  type StartForm,
} from '../../frontend/src/features/pipelines/start/form.ts'
import { keyColumnNames } from '../../frontend/src/components/form/key-columns.ts'
import { startSchema } from '../../frontend/src/features/pipelines/start/schema.ts'

const form = (more: Partial<StartForm> = {}): StartForm => ({
  ...EMPTY_START_FORM,
  source_table: 'demo.orders',
  sink_table: 'demo.copy',
  checkpoint_location: 'checkpoints/copy',
  ...more,
})
const errorsOf = (more: Partial<StartForm>) => validateForm(startSchema, form(more))

describe('the start form', () => {
  it('reports what the server would refuse', () => {
    const required = 'Required.'
    expect(validateForm(startSchema, EMPTY_START_FORM)).toEqual({
      source_table: required,
      sink_table: required,
      checkpoint_location: required,
    })
    expect(errorsOf({})).toEqual({})
    expect(errorsOf({ source_table: 'orders' })).toEqual({
      source_table:
        'Must be namespace.name: levels joined by dots, none empty and none starting or ending with a space.',
    })
    expect(Object.keys(errorsOf({ sink_table: 'demo.orders ' }))).toEqual(['sink_table'])
    expect(errorsOf({ mode: 'version', sink_table: '' })).toEqual({ version_id: required })
    for (const wrong of ['', '5', '99 ms', '25 h', 'soon']) {
      expect(Object.keys(errorsOf({ trigger_interval: wrong })), wrong).toEqual(['trigger_interval'])
    }
  })

  it.each([
    ['0', 'Enter 1 or more.'],
    ['-1', 'Enter 1 or more.'],
    ['1.00001', 'Enter a whole number.'],
    ['many', 'Enter a number.'],
    ['1e3', 'Enter a number.'],
  ])('refuses %j as a limit', (text, message) => {
    expect(errorsOf({ max_files_per_batch: text })).toEqual({ max_files_per_batch: message })
    expect(errorsOf({ max_bytes_per_batch: text })).toEqual({ max_bytes_per_batch: message })
  })

  it('asks for the snapshot or the time to begin after, and sends what is chosen', () => {
    expect(errorsOf({ from: 'snapshot' })).toEqual({
      from_snapshot_id: 'Enter the ID of a snapshot, which is a number.',
    })
    expect(errorsOf({ from: 'time' })).toEqual({ from_timestamp: 'Enter a time.' })
    const at = '2026-11-20T10:00:00.000Z'
    for (const [more, from] of [
      [{ from: 'now' }, 'now'],
      [{ from: 'beginning' }, 'beginning'],
      [{ from: 'snapshot', from_snapshot_id: ' 6816997371555012807 ' }, { snapshot_id: '6816997371555012807' }],
      [{ from: 'time', from_timestamp: at }, { timestamp: at }],
    ] as const) {
      expect(startSchema.parse(form(more))).toMatchObject({ from })
    }
    expect(startSchema.parse(form({ from: 'beginning', into_branch: ' fill ' }))).toMatchObject({
      into_branch: { name: 'fill', publish: 'when_caught_up' },
    })
    const refusal = { path: 'from.snapshot_id', message: 'there is no such snapshot' }
    expect(fieldErrorsOf([refusal]).fields).toEqual({ from_snapshot_id: refusal.message })
  })

  it("accepts limits with group separators, up to the server's maximum of files", () => {
    expect(startSchema.parse(form({ max_files_per_batch: '1,000' }))).toMatchObject({ max_files_per_batch: 1000 })
    expect(errorsOf({ max_files_per_batch: '1000001' })).toEqual({ max_files_per_batch: 'Enter 1,000,000 or less.' })
  })

  it('builds the request without default values', () => {
    expect(startSchema.parse(form())).toEqual({
      source_table: 'demo.orders',
      sink_table: 'demo.copy',
      read: 'appends',
      write: 'append',
      checkpoint_location: 'checkpoints/copy',
      trigger_interval: '5 seconds',
    })
    const full = form({
      create_sink_table: true,
      on_schema_change: 'add',
      on_delete: 'skip',
      max_files_per_batch: '10',
      max_bytes_per_batch: '2',
    })
    expect(startSchema.parse(full)).toMatchObject({
      create_sink_table: true,
      on_schema_change: 'add',
      on_delete: 'skip',
      max_files_per_batch: 10,
      max_bytes_per_batch: 2 ** 21,
    })
    expect(startSchema.parse(form({ mode: 'version', version_id: 'ver-1', create_sink_table: true }))).toEqual({
      version_id: 'ver-1',
      checkpoint_location: 'checkpoints/copy',
      trigger_interval: '5 seconds',
    })
  })

  it('names key and modes, and leaves out what has no meaning for changes', () => {
    const mirror = { read: 'changes', write: 'mirror', key: ['id', 'region'] } as const
    const spark = { engine: 'spark', on_delete: 'skip' } as const
    expect(startSchema.parse(form({ ...mirror, ...spark }))).toEqual({
      source_table: 'demo.orders',
      sink_table: 'demo.copy',
      ...mirror,
      engine: 'embedded',
      checkpoint_location: 'checkpoints/copy',
      trigger_interval: '5 seconds',
    })
    expect(errorsOf({ ...mirror, key: [] })).toEqual({ key: 'Choose the columns that identify a row.' })
    expect(errorsOf({ read: 'changes', key: [] })).toEqual({})
    expect(startSchema.parse(form({ key: ['left', 'over'] }))).not.toHaveProperty('key')
    expect(startSchema.parse(form({ ...mirror, ...spark, mode: 'version', version_id: 'v' }))).toEqual({
      version_id: 'v',
      ...spark,
      checkpoint_location: 'checkpoints/copy',
      trigger_interval: '5 seconds',
    })
  })

  it('shows fields where they have a meaning', () => {
    const shown = (more: Partial<StartForm>) =>
      ['version_id', 'read', 'write', 'on_schema_change', 'key', 'engine', 'on_delete', 'sink_table'].filter((field) =>
        isShown(field, form(more)),
      )
    expect(shown({})).toEqual(['read', 'write', 'on_schema_change', 'engine', 'on_delete', 'sink_table'])
    expect(shown({ write: 'upsert' })).toEqual(['read', 'write', 'on_schema_change', 'key', 'on_delete', 'sink_table'])
    expect(shown({ read: 'changes' })).toEqual(['read', 'write', 'on_schema_change', 'key', 'sink_table'])
    expect(shown({ mode: 'version', read: 'changes' })).toEqual(['version_id', 'engine', 'on_delete'])
  })

  it('warns of a mirror that does not know which rows are deleted', () => {
    const columns = [{ name: 'id', type: 'long' }]
    const log = [...columns, { name: '_change_type', type: 'string' }]
    expect(lacksChanges(form({ write: 'mirror' }), columns)).toBe(true)
    expect(lacksChanges(form({ write: 'mirror' }), log)).toBe(false)
    expect(lacksChanges(form({ write: 'mirror' }), undefined)).toBe(false)
    expect(lacksChanges(form({ write: 'mirror', read: 'changes' }), columns)).toBe(false)
    expect(lacksChanges(form({ write: 'upsert' }), columns)).toBe(false)
  })

  it('offers columns as a key that can identify a row', () => {
    const columns = [
      ['id', 'long'],
      ['price', 'decimal(10,2)'],
      ['rate', 'double'],
      ['hash', 'fixed[16]'],
      ['place', 'struct<lat: double, name: string>'],
      ['place.lat', 'double'],
      ['place.name', 'string'],
      ['tags', 'list<string>'],
      ['tags.element', 'string'],
      ['place.x', 'string'],
    ].map(([path = '', type = ''], id) => ({ id, name: path, path, type, nullable: true, comment: null }))
    expect(keyColumnNames(columns)).toEqual(['id', 'price', 'hash', 'place.x'])
  })

  it('suggests a checkpoint that no other pipeline uses', () => {
    expect(proposeCheckpoint('demo.copy', [])).toBe('checkpoints/demo.copy')
    const taken = ['file:///srv/home/checkpoints/demo.copy', 'file:///srv/home/checkpoints/demo.copy-2/']
    expect(proposeCheckpoint('demo.copy', taken)).toBe('checkpoints/demo.copy-3')
    expect(proposeCheckpoint('demo.a b/c', [])).toBe('checkpoints/demo.a-b-c')
    expect(proposeCheckpoint(' ', [])).toBe('checkpoints/pipeline')
  })

  it('shows errors of the server at their fields', () => {
    expect(
      fieldErrorsOf([
        { path: 'sink_table', message: 'a' },
        { path: 'sink_table', message: 'b' },
        { path: 'nodes.2', message: 'c' },
        { path: 'key.1', message: 'k' },
        { path: 'elsewhere', message: 'd' },
        { path: 'constructor', message: 'e' },
      ]),
    ).toEqual({ fields: { sink_table: 'a; b', version_id: 'c', key: 'k' }, rest: ['d', 'e'] })
  })
})
