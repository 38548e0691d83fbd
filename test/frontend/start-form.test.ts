import { describe, expect, it } from 'vitest'
import {
  checkStartForm,
  EMPTY_START_FORM,
  fieldErrorsOf,
  proposeCheckpoint,
  type StartForm,
  toStartRequest,
} from '../../frontend/src/features/pipelines/start-form.ts'
import { startPipelineRequest } from '../../src/schemas/pipelines.ts'

const RULES = { required: 'required', tableName: 'table', sameTable: 'same', wholeNumber: 'whole' }
const form = (more: Partial<StartForm> = {}): StartForm => ({
  ...EMPTY_START_FORM,
  sourceTable: 'demo.orders',
  sinkTable: 'demo.copy',
  checkpointLocation: 'checkpoints/copy',
  ...more,
})

describe('the start form', () => {
  it('finds what the server would refuse', () => {
    const errors = checkStartForm(EMPTY_START_FORM, RULES)
    expect(Object.keys(errors).sort()).toEqual(['checkpoint_location', 'sink_table', 'source_table'])
    expect(checkStartForm(form(), RULES)).toEqual({})
    expect(checkStartForm(form({ sourceTable: 'orders' }), RULES)).toEqual({ source_table: 'table' })
    expect(checkStartForm(form({ sinkTable: 'demo.orders ' }), RULES)).toEqual({ sink_table: 'same' })
    expect(checkStartForm(form({ mode: 'version', sinkTable: '' }), RULES)).toEqual({ version_id: 'required' })
    for (const wrong of ['', '5', '99 ms', '25 h', 'soon']) {
      expect(checkStartForm(form({ triggerInterval: wrong }), RULES), wrong).toHaveProperty('trigger_interval')
    }
    for (const wrong of ['0', '-1', '1.5', 'many', '1e3']) {
      expect(checkStartForm(form({ maxFiles: wrong }), RULES), wrong).toEqual({ max_files_per_batch: 'whole' })
      expect(checkStartForm(form({ maxMegabytes: wrong }), RULES), wrong).toEqual({ max_bytes_per_batch: 'whole' })
    }
  })

  it('makes requests that the schema of the server takes', () => {
    const full = form({ createSinkTable: true, onDelete: 'skip', maxFiles: '10', maxMegabytes: '2' })
    for (const one of [form(), full, form({ mode: 'version', versionId: 'ver-1', createSinkTable: true })]) {
      const request = toStartRequest(one)
      expect(startPipelineRequest.parse(request)).toEqual(request)
    }
    expect(toStartRequest(full)).toMatchObject({
      create_sink_table: true,
      on_delete: 'skip',
      max_bytes_per_batch: 2 ** 21,
    })
    expect(toStartRequest(form({ mode: 'version', versionId: 'ver-1', createSinkTable: true }))).toEqual({
      version_id: 'ver-1',
      checkpoint_location: 'checkpoints/copy',
      trigger_interval: '5 seconds',
    })
  })

  it('proposes a checkpoint that no other pipeline has', () => {
    expect(proposeCheckpoint('demo.copy', [])).toBe('checkpoints/demo.copy')
    const taken = ['file:///srv/home/checkpoints/demo.copy', 'file:///srv/home/checkpoints/demo.copy-2/']
    expect(proposeCheckpoint('demo.copy', taken)).toBe('checkpoints/demo.copy-3')
    expect(proposeCheckpoint('demo.a b/c', [])).toBe('checkpoints/demo.a-b-c')
    expect(proposeCheckpoint(' ', [])).toBe('checkpoints/pipeline')
  })

  it('puts refusals of the server at their fields', () => {
    expect(
      fieldErrorsOf([
        { path: 'sink_table', message: 'a' },
        { path: 'sink_table', message: 'b' },
        { path: 'nodes.2', message: 'c' },
        { path: 'elsewhere', message: 'd' },
      ]),
    ).toEqual({ fields: { sink_table: 'a; b', version_id: 'c' }, rest: ['d'] })
  })
})
